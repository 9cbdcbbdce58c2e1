#pragma once
// From RGB pixels to the samples that JPEG stores: luma and two chroma, the chroma averaged where it is stored once per
// several pixels.
//
// Colour is that of JFIF 1.02 (ITU-R BT.601, full range) in 16-bit fixed point as in jccolor.c:
//   Y = 0.299 R + 0.587 G + 0.114 B, Cb = 128 + 0.564 (B - Y), Cr = 128 + 0.713 (R - Y).
// Averages are rounded down and up in turn from sample to sample, as in jcsample.c, so that they have no drift.
// All is bit-equal to libjpeg-turbo.
//
// Rows: a row of samples has room for its length rounded up to kSampleStep. Up to the next multiple of 16 it is filled
// by repeating its last sample, which is how libjpeg widens an image to whole blocks; what is behind is undefined.
// Threads: pure.

#include <cstddef>
#include <cstdint>

namespace unstarve {

inline constexpr std::size_t kSampleStep = 64;

// The next multiple of kSampleStep.
[[nodiscard]] constexpr std::size_t padded_samples(std::size_t count) {
  return (count + kSampleStep - 1) / kSampleStep * kSampleStep;
}

// `rgb`: 3 * count bytes, of which no more are read; count > 0.
void rgb_to_ycc(const std::uint8_t* rgb, std::size_t count, std::uint8_t* y, std::uint8_t* cb, std::uint8_t* cr);

// One sample for two neighbours. `count`: of `in`, a multiple of kSampleStep; half as many are written.
void average_2x1(const std::uint8_t* in, std::size_t count, std::uint8_t* out);
// One sample for two neighbours in each of two rows.
void average_2x2(const std::uint8_t* upper, const std::uint8_t* lower, std::size_t count, std::uint8_t* out);

}  // namespace unstarve
