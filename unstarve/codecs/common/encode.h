#pragma once
// Encodes upright 8-bit RGB to JPEG or PNG bytes: for the synthetic dataset, packing and tests.
//
// Threads: pure functions. Failure: Error(kArgument) for an empty image or a quality outside 1..100.
// Cost: allocates per call. To encode many JPEG files without allocation, use JpegEncoder
//       (jpeg/encode/jpeg_encoder.h).

#include <cstdint>
#include <vector>

#include "unstarve/core/image.h"

namespace unstarve {

enum class ChromaSampling { k444, k422, k420 };

[[nodiscard]] std::vector<std::uint8_t> encode_jpeg(PixelView pixels, int quality,
                                                    ChromaSampling sampling = ChromaSampling::k420);
[[nodiscard]] std::vector<std::uint8_t> encode_png(PixelView pixels);

}  // namespace unstarve
