// Arbitrary bytes as a PNG file: whole images and crops.
#include "fuzz/codecs/crop_checks.h"
#include "unstarve/codecs/decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  unstarve::fuzz::check_crops(data, size);
  return 0;
}
