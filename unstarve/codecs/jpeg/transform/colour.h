#pragma once
// Chroma upsampling and colour conversion from component samples to RGB rows, bit-equal to libjpeg-turbo's.
//
// Upsampling is libjpeg's "fancy" triangle filter: a new sample is 3/4 of the nearer and 1/4 of the farther old sample,
// with ordered rounding (jdsample.c). At the image's edge the last sample is repeated: callers pass the same row twice,
// or set samples[-1] and samples[count].
// Colour is JFIF's (ITU-R BT.601, full range): R = Y + 1.402 Cr, G = Y - 0.344 Cb - 0.714 Cr, B = Y + 1.772 Cb, in
// 16-bit fixed point as in jdcolor.c.
//
// Rows: inputs are readable, and outputs writable, for kRowSlack bytes after their end.
// Threads: pure.

#include <cstddef>
#include <cstdint>

namespace unstarve {

inline constexpr std::size_t kRowSlack = 64;

// Two samples for each of samples[0 .. count-1]; reads samples[-1] and samples[count] too.
void upsample_2x1(const std::uint8_t* samples, std::size_t count, std::uint8_t* out);
// One sample for each, between two rows. `lower`: the new row is in the lower half of the near row's pixels, which
// determines its rounding.
void upsample_1x2(const std::uint8_t* near, const std::uint8_t* far, bool lower, std::size_t count, std::uint8_t* out);
// Two samples for each, between two rows; reads [-1] and [count] of both. `sums`: count + 2 values and slack.
void upsample_2x2(const std::uint8_t* near, const std::uint8_t* far, std::size_t count, std::uint16_t* sums,
                  std::uint8_t* out);
// Each of samples[0 .. count-1] twice: libjpeg's upsampling without smoothing.
void repeat_2x1(const std::uint8_t* samples, std::size_t count, std::uint8_t* out);

// Writes exactly 3 * count bytes.
void ycc_to_rgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::size_t count,
                std::uint8_t* rgb);
void grey_to_rgb(const std::uint8_t* grey, std::size_t count, std::uint8_t* rgb);

}  // namespace unstarve
