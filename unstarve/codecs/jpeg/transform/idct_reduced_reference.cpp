// Scalar code for one block: the reference for the tests of the kernels in idct_reduced.cpp, and their fallback.
#include <algorithm>

#include "unstarve/codecs/jpeg/transform/dct_constants.h"
#include "unstarve/codecs/jpeg/transform/idct_reduced.h"

namespace unstarve {
namespace {

std::int16_t wrapped(int value) { return static_cast<std::int16_t>(static_cast<std::uint16_t>(value)); }
std::int16_t saturated(std::int32_t value) { return static_cast<std::int16_t>(std::clamp(value, -32768, 32767)); }
std::uint8_t sample_of(std::int32_t value) { return static_cast<std::uint8_t>(std::clamp(value, -128, 127) + 128); }

// Unsigned, so that sums of wild values wrap as in vector registers.
std::uint32_t times(int a, int x) { return static_cast<std::uint32_t>(a * x); }
std::int32_t descaled(std::uint32_t value, int down) {
  return static_cast<std::int32_t>(value + (1u << (down - 1))) >> down;
}

// From eight values, `step` apart, to four.
void to_four(const std::int16_t* v, std::ptrdiff_t step, int down, std::int32_t* out) {
  using namespace dct;  // NOLINT: its constants
  const auto in = [&](int i) { return static_cast<int>(v[i * step]); };
  const std::uint32_t outer = times(in(1), k2_562) + times(in(3), k0_899) - times(in(5), k0_601) - times(in(7), k0_509);
  const std::uint32_t inner = times(in(1), k1_061) - times(in(3), k2_172) + times(in(5), k1_451) - times(in(7), k0_211);
  const std::uint32_t even = times(in(0), 1 << (kBits + 1));
  const std::uint32_t z26 = times(in(2), k1_847) - times(in(6), k0_765);
  out[0] = descaled(even + z26 + outer, down);
  out[1] = descaled(even - z26 + inner, down);
  out[2] = descaled(even - z26 - inner, down);
  out[3] = descaled(even + z26 - outer, down);
}

void reference_4(const std::int16_t* coefficients, const std::int16_t* values, std::uint8_t* out,
                 std::ptrdiff_t stride) {
  // libjpeg-turbo's shortcut: without vertical frequencies (the fourth is never used), the first pass only shifts.
  bool constant_columns = true;
  for (std::size_t i = 8; i < 64; ++i) constant_columns = constant_columns && (coefficients[i] == 0 || i / 8 == 4);
  std::int16_t rows[4][8];
  for (std::size_t x = 0; x < 8; ++x) {
    std::int32_t column[4];
    to_four(values + x, 8, dct::kBits - dct::kBetween + 1, column);
    for (std::size_t y = 0; y < 4; ++y) {
      rows[y][x] = constant_columns ? wrapped(values[x] * (1 << dct::kBetween)) : saturated(column[y]);
    }
  }
  for (std::ptrdiff_t y = 0; y < 4; ++y) {
    std::int32_t row[4];
    to_four(rows[y], 1, dct::kBits + dct::kBetween + 3 + 1, row);
    for (std::ptrdiff_t x = 0; x < 4; ++x) out[y * stride + x] = sample_of(row[x]);
  }
}

// The part of two values that has opposite signs in them.
std::uint32_t odd_of_two(const std::int16_t* v, std::ptrdiff_t step) {
  using namespace dct;  // NOLINT: its constants
  return times(v[step], k3_624) - times(v[3 * step], k1_272) + times(v[5 * step], k0_850) - times(v[7 * step], k0_720);
}

void reference_2(const std::int16_t* values, std::uint8_t* out, std::ptrdiff_t stride) {
  std::int32_t rows[2][8];
  for (std::size_t x = 0; x < 8; ++x) {
    const std::uint32_t odd = odd_of_two(values + x, 8);
    const std::uint32_t even = times(values[x], 1 << (dct::kBits + 2));
    rows[0][x] = descaled(even + odd, dct::kBits - dct::kBetween + 2);
    rows[1][x] = descaled(even - odd, dct::kBits - dct::kBetween + 2);
  }
  for (std::ptrdiff_t y = 0; y < 2; ++y) {
    std::int16_t narrow[8];
    std::transform(rows[y], rows[y] + 8, narrow, saturated);
    const std::uint32_t odd = odd_of_two(narrow, 1);
    const std::uint32_t even = static_cast<std::uint32_t>(rows[y][0]) << (dct::kBits + 2);
    out[y * stride] = sample_of(descaled(even + odd, dct::kBits + dct::kBetween + 3 + 2));
    out[y * stride + 1] = sample_of(descaled(even - odd, dct::kBits + dct::kBetween + 3 + 2));
  }
}

// libjpeg looks samples up by their low ten bits, sign included; the product does not wrap.
std::uint8_t only_sample(std::int16_t dc, std::int16_t factor) {
  const auto value = static_cast<std::uint32_t>(((dc * factor + 4) >> 3) + 512) & 1023;
  return sample_of(static_cast<std::int32_t>(value) - 512);
}

}  // namespace

void inverse_dct_reduced_reference(const std::int16_t* coefficients, int size, const std::int16_t* quantisation,
                                   std::uint8_t* out, std::ptrdiff_t stride) {
  if (size == 1) {
    *out = only_sample(coefficients[0], quantisation[0]);
    return;
  }
  std::int16_t values[64];
  for (std::size_t i = 0; i < 64; ++i) values[i] = wrapped(coefficients[i] * quantisation[i]);
  if (size == 4) return reference_4(coefficients, values, out, stride);
  reference_2(values, out, stride);
}

}  // namespace unstarve
