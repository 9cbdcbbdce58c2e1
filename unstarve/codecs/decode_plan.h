#pragma once
// How an image is decoded: the decoder, the scale, the part, and whether a scan index is used. A pure function of the
// header and of a hint about the use of the pixels, so that it can be tested and explained without decoding.
//
// Part: the selection, if decoding a part is allowed. Scale: the smallest of 1/1, 1/2, 1/4 and 1/8 at which the
// selection still has at least the target's size, if the format and the hint allow reducing. A selection beyond the
// image's edges, which user-defined operations may produce, requires the whole image at full size.
// Path: our own decoder for baseline JPEG files (jpeg/layout/baseline_image.h), the format's library for others.
// Damage is detected only while decoding: files that our own decoder finds damaged go to libjpeg-turbo then.
//
// Threads: pure functions.

#include "unstarve/codecs/common/image_header.h"
#include "unstarve/codecs/jpeg/layout/baseline_plan.h"

namespace unstarve {

struct DecodeHint {
  Rect selected;        // in the upright full-size image; may extend beyond its edges
  Size target;          // the size that the selection is resized to
  bool crop = false;    // the selection may be decoded without the rest
  bool reduce = false;  // decoding at a reduced scale is allowed
  bool index = false;   // scan indexes are stored
};

enum class DecodePath { kOwn, kLibjpegTurbo, kLibpng, kLibwebp };

[[nodiscard]] const char* to_string(DecodePath path) noexcept;

struct DecodePlan {
  DecodePath path = DecodePath::kOwn;
  int reduction = 1;
  Rect crop;           // as in DecodeRequest: width 0 is the whole image
  bool index = false;  // use the stored scan index, or build one
  Rect stored;         // the decoded pixels of the reduced stored image
  BaselinePlan mcus;   // kOwn: the rows and columns of MCUs that contain them
};

// The decoder for such an image, unless it is damaged. Precondition: its encoding is known.
[[nodiscard]] DecodePath decode_path(const ImageHeader& header, int reduction);

// Precondition: the header's encoding is known.
[[nodiscard]] DecodePlan plan_decode(const ImageHeader& header, const DecodeHint& hint);

// The largest reduction of 1, 2, 4, 8 at which `selected` is still at least `target` in both sides.
[[nodiscard]] int choose_reduction(Size selected, Size target);

// The pixels of the reduced stored image that correspond to `crop` (width 0: everything) of the upright full-size
// image: from floor(crop.x / reduction) to ceil((crop.x + crop.width) / reduction), and likewise in y.
[[nodiscard]] Rect stored_part(const ImageHeader& header, Rect crop, int reduction);

// Whether `part` is inside an image of this size.
[[nodiscard]] bool is_within(const Rect& part, Size size);

}  // namespace unstarve
