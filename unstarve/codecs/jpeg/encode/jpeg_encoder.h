#pragma once
// Encodes RGB pixels to baseline JPEG files, bit-equal to libjpeg-turbo with its default settings (accurate integer
// DCT, the tables of T.81's annex K, JFIF), in half its time with AVX-512 (docs/decisions/0018-jpeg-encoder.md).
//
// Encodes one row of MCUs (8 or 16 rows of pixels) at a time, so that intermediate data stays in the cache:
//
//   pixels -> samples (sampling.h) -> coefficients (forward_dct.h) -> bits (entropy_encoder.h) -> stuffed bytes
//
// Ownership: owns its scratch memory; after the widest image it allocates nothing.
// Threads:   one encoder per thread.
// Failure:   Error(kArgument) for an empty or too large image or a quality outside 1..100.

#include <array>
#include <cstdint>
#include <vector>

#include "unstarve/codecs/common/encode.h"
#include "unstarve/codecs/jpeg/encode/entropy_encoder.h"
#include "unstarve/codecs/jpeg/encode/quantiser.h"
#include "unstarve/codecs/jpeg/encode/zigzag_row.h"
#include "unstarve/core/aligned.h"
#include "unstarve/core/image.h"

namespace unstarve {

class JpegEncoder {
 public:
  // Replaces the contents of `out` by the file; reuses the memory of `out` if it is large enough.
  void encode(PixelView pixels, int quality, ChromaSampling sampling, std::vector<std::uint8_t>& out);

 private:
  void prepare(Size size, int quality, ChromaSampling sampling);
  void sample(PixelView pixels, int mcu_row);
  void transform(int mcu_row);
  void append_bits(int mcu_row, std::vector<std::uint8_t>& out);
  [[nodiscard]] std::uint8_t* plane(int component);

  Size size_;
  int horizontal_ = 1;  // luma's sampling factors
  int vertical_ = 1;
  int quality_ = 0;
  QuantisationTable luminance_{};
  QuantisationTable chrominance_{};
  Quantiser luma_;
  Quantiser chroma_;
  std::size_t stride_ = 0;  // of all planes
  AlignedBytes samples_;
  AlignedBytes pixel_row_;
  std::array<ZigzagRow, 4> coefficients_;  // luma, luma's second row, Cb, Cr
  EntropyEncoder entropy_;
  AlignedBytes bits_;
};

}  // namespace unstarve
