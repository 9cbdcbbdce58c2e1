// The optimisation passes, one row each, in the order in which they run: PASS(NAME, HELP, ERROR).
//
// A spec switches a pass by its NAME: "passes: {crop_into_decode: false}". HELP is one line: what the pass does. ERROR
// is the bound of the error of an approximate pass, "" for an exact one. The pass is the function pass_NAME() in
// passes/NAME.cpp. The table contains no code, so that a spec can be checked and described without a plan.

PASS(cache, "caches encoded records, or pixels before the first random operation", "")
PASS(crop_into_resize, "resizes only the region that the next operation reads", "")
PASS(crop_into_decode, "decodes only the region that the first operation reads", "")
PASS(scale_into_decode, "decodes JPEG at a reduced scale where the result is resized further",
     "photographs differ by less than 6 of 255 on average, 20 in the worst case, and show less than one pixel more on "
     "each side")
PASS(resize_into_decode, "resizes rows as they are decoded", "")
PASS(scan_index, "stores the positions of MCU rows in a JPEG and decodes crops from there", "")
PASS(operation_fusion, "crops, pads, mirrors and changes colours without writing an image each", "")
PASS(normalise_on_device, "copies uint8 to a device that normalises and casts",
     "a value is off by at most 2^-20 of the larger of |pixel / (255 std)| and |mean / std|")
