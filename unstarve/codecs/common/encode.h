#pragma once
// Upright 8-bit RGB to JPEG or PNG bytes: used by the synthetic data set, by packing and by tests.
//
// Threads: pure functions. Failure: Error(kArgument) for an empty image or a quality outside 1..100.
// Cost: who encodes many JPEG files keeps a JpegEncoder (jpeg_encode/jpeg_encoder.h), which allocates nothing per
// image.

#include <cstdint>
#include <vector>

#include "unstarve/core/image.h"

namespace unstarve {

enum class ChromaSampling { k444, k422, k420 };

[[nodiscard]] std::vector<std::uint8_t> encode_jpeg(PixelView pixels, int quality,
                                                    ChromaSampling sampling = ChromaSampling::k420);
[[nodiscard]] std::vector<std::uint8_t> encode_png(PixelView pixels);

}  // namespace unstarve
