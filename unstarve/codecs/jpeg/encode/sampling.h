#pragma once
// Converts RGB pixels to the samples that JPEG stores: luma and two chroma components, with chroma averaged if it is
// subsampled.
//
// Colour is that of JFIF 1.02 (ITU-R BT.601, full range) in 16-bit fixed point as in jccolor.c:
//   Y = 0.299 R + 0.587 G + 0.114 B, Cb = 128 + 0.564 (B - Y), Cr = 128 + 0.713 (R - Y).
// Averages are rounded alternately down and up, as in jcsample.c, to avoid a bias.
// Results are bit-equal to libjpeg-turbo.
//
// Rows: a row of samples has room for its length rounded up to kSampleStep. Up to the next multiple of 16 its last
// sample is repeated, which is how libjpeg extends an image to whole blocks; samples after that are undefined.
// Threads: pure.

#include <cstddef>
#include <cstdint>

namespace unstarve {

inline constexpr std::size_t kSampleStep = 64;

// The next multiple of kSampleStep.
[[nodiscard]] constexpr std::size_t padded_samples(std::size_t count) {
  return (count + kSampleStep - 1) / kSampleStep * kSampleStep;
}

// Reads exactly 3 * count bytes of `rgb`; count > 0.
void rgb_to_ycc(const std::uint8_t* rgb, std::size_t count, std::uint8_t* y, std::uint8_t* cb, std::uint8_t* cr);

// Averages two neighbours. `count`: samples of `in`, a multiple of kSampleStep; writes half as many.
void average_2x1(const std::uint8_t* in, std::size_t count, std::uint8_t* out);
// Averages two neighbours in each of two rows.
void average_2x2(const std::uint8_t* upper, const std::uint8_t* lower, std::size_t count, std::uint8_t* out);

}  // namespace unstarve
