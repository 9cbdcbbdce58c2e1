#include "unstarve/ops/resize_filter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace unstarve {
namespace {

// Sums of 8-bit values times weights that add up to 2^22 stay below 2^31; it is also Pillow's own precision.
constexpr int kMaxFractionBits = 22;

}  // namespace

void AxisFilter::build(int input, int output) {
  if (input == input_ && output == output_) return;
  input_ = input;
  output_ = output;

  const double scale = static_cast<double>(input) / output;
  const double support = std::max(1.0, scale);
  const double inverse_support = 1.0 / support;
  // A window of width 2 * support holds at most ceil(2 * support) samples whose weight is not 0; the two ends are
  // rounded on their own, which can add one.
  const auto widest = static_cast<int>(std::ceil(support)) * 2 + 1;
  const auto stride = static_cast<std::size_t>(widest);
  const auto outputs = static_cast<std::size_t>(output);
  first_.resize(outputs);
  exact_.assign(outputs * stride, 0.0);

  double largest = 0;
  int longest = 1;
  for (std::size_t i = 0; i < outputs; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const int begin = std::max(0, static_cast<int>(centre - support + 0.5));
    const int end = std::min(input, static_cast<int>(centre + support + 0.5));
    double* w = exact_.data() + i * stride;
    double sum = 0;
    int count = 0;
    for (int x = begin; x < end; ++x) {
      w[x - begin] = std::max(0.0, 1.0 - std::abs((x - centre + 0.5) * inverse_support));
      sum += w[x - begin];
      if (w[x - begin] > 0) count = x - begin + 1;
    }
    const double inverse_sum = 1.0 / sum;
    for (int k = 0; k < count; ++k) {
      w[k] *= inverse_sum;
      largest = std::max(largest, w[k]);
    }
    first_[i] = begin;
    longest = std::max(longest, count);
  }

  fraction_bits_ = kMaxFractionBits;
  while (std::lround(std::ldexp(largest, fraction_bits_)) > 32767) --fraction_bits_;
  const double one = std::ldexp(1.0, fraction_bits_);
  taps_ = (longest + 1) / 2 * 2;
  const auto taps = static_cast<std::size_t>(taps_);
  weights_.assign(outputs * taps, 0);
  for (std::size_t i = 0; i < outputs; ++i) {
    const double* w = exact_.data() + i * stride;
    for (int k = 0; k < longest; ++k) {
      weights_[i * taps + static_cast<std::size_t>(k)] = static_cast<std::int16_t>(w[k] * one + 0.5);
    }
  }
}

}  // namespace unstarve
