#include "unstarve/infer/int8/activation_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace unstarve::infer {
namespace {

constexpr double kPercentile = 0.9999;
// Limits that are tried by kEntropy and kMse, in parts of the range.
constexpr std::size_t kCandidates = 128;

// Bins of a distribution are quantised to `levels` groups; each group's count is spread over those of its bins that are
// not empty. Returns the divergence of the result from `bins` with `clipped` values more in the last bin.
double divergence(std::span<const std::uint64_t> bins, std::uint64_t clipped, std::size_t levels) {
  const std::size_t count = bins.size();
  const double all = static_cast<double>(std::accumulate(bins.begin(), bins.end(), clipped));
  const double kept = all - static_cast<double>(clipped);
  if (kept <= 0) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (std::size_t level = 0; level < levels; ++level) {
    const std::size_t begin = level * count / levels, end = (level + 1) * count / levels;
    double group = 0, filled = 0;
    for (std::size_t i = begin; i < end; ++i) {
      group += static_cast<double>(bins[i]);
      filled += bins[i] > 0 ? 1 : 0;
    }
    for (std::size_t i = begin; i < end; ++i) {
      const double before = static_cast<double>(bins[i] + (i + 1 == count ? clipped : 0)) / all;
      if (before <= 0) continue;
      // Clipped values in an otherwise empty bin: as if one value were there.
      const double after = filled > 0 && bins[i] > 0 ? group / filled / kept : 1 / (kept + 1);
      sum += before * std::log(before / after);
    }
  }
  return sum;
}

// Non-negative numbers and the integers of their bits have the same order; NaN is the largest.
std::int32_t magnitude_bits(float value) { return std::bit_cast<std::int32_t>(value) & 0x7FFFFFFF; }

}  // namespace

std::string_view name_of(CalibrationMethod method) noexcept {
  static constexpr std::array<std::string_view, 4> kNames{"min-max", "percentile", "entropy", "mse"};
  return kNames[static_cast<std::size_t>(method)];
}

bool ActivationHistogram::add(std::span<const float> values) {
  // Loops that the compiler can vectorise: magnitudes are compared as integers, and bins are computed for a block of
  // values before they are counted.
  constexpr std::int32_t kInfinity = 0x7F800000;
  std::int32_t bits = 0;
  for (const float value : values) bits = std::max(bits, magnitude_bits(value));
  if (bits >= kInfinity) return false;
  if (bits == 0) return true;
  const double largest = std::bit_cast<float>(bits);
  largest_ = std::max(largest_, largest);
  widen(largest);
  const auto scale = static_cast<float>(1 / width_);

  // Slot 0 is for zeros, slot 1 for bin 0. Successive values are counted in different tables, because an addition to a
  // counter waits for the one before.
  constexpr std::int32_t kLast = kBins - 1;
  constexpr std::size_t kTables = 4, kBlock = 256 * kTables;
  std::array<std::array<std::uint32_t, kBins + 1>, kTables> counts{};
  std::array<std::int32_t, kBlock> slots{};
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    const std::span<const float> block = values.subspan(begin, std::min(kBlock, values.size() - begin));
    for (std::size_t i = 0; i < block.size(); ++i) {
      const std::int32_t magnitude = magnitude_bits(block[i]);
      const auto bin = static_cast<std::int32_t>(std::bit_cast<float>(magnitude) * scale);
      slots[i] = std::min(kLast, bin) + (magnitude != 0 ? 1 : 0);
    }
    std::size_t i = 0;
    for (; i + kTables <= block.size(); i += kTables)
      for (std::size_t table = 0; table < kTables; ++table) ++counts[table][static_cast<std::size_t>(slots[i + table])];
    for (; i < block.size(); ++i) ++counts[0][static_cast<std::size_t>(slots[i])];
  }
  for (const auto& table : counts)
    for (std::size_t bin = 0; bin < kBins; ++bin) bins_[bin] += table[bin + 1];
  return true;
}

void ActivationHistogram::widen(double magnitude) {
  // Twice the first range: the next values are often a little larger.
  if (width_ == 0) width_ = 2 * std::max(magnitude, 1e-30) / kBins;
  for (; magnitude > width_ * kBins; width_ *= 2) {
    for (std::size_t i = 0; i < kBins / 2; ++i) bins_[i] = bins_[2 * i] + bins_[2 * i + 1];
    std::fill(bins_.begin() + kBins / 2, bins_.end(), 0);
  }
}

double ActivationHistogram::limit(CalibrationMethod method, int levels) const {
  if (largest_ == 0) return 0;
  switch (method) {
    case CalibrationMethod::kMinMax: return largest_;
    case CalibrationMethod::kPercentile: return percentile(kPercentile);
    case CalibrationMethod::kEntropy: return least_divergence(static_cast<std::size_t>(levels));
    case CalibrationMethod::kMse: return least_squared_error(levels);
  }
  return largest_;
}

double ActivationHistogram::percentile(double share) const {
  const auto all = static_cast<double>(std::accumulate(bins_.begin(), bins_.end(), std::uint64_t{0}));
  std::uint64_t within = 0;
  for (std::size_t i = 0; i < kBins; ++i) {
    within += bins_[i];
    if (static_cast<double>(within) >= share * all) return std::min(largest_, static_cast<double>(i + 1) * width_);
  }
  return largest_;
}

double ActivationHistogram::least_divergence(std::size_t levels) const {
  const std::size_t used = std::min(kBins, static_cast<std::size_t>(largest_ / width_) + 1);
  std::uint64_t clipped = 0;
  double best = largest_, least = std::numeric_limits<double>::infinity();
  const std::size_t step = std::max<std::size_t>(1, used / kCandidates);
  // From the largest limit to the smallest, which still has a bin per level.
  for (std::size_t end = used; end >= std::max<std::size_t>(levels, step); end -= step) {
    const double found = divergence(std::span(bins_).first(end), clipped, levels);
    if (found < least) {
      least = found;
      best = std::min(largest_, static_cast<double>(end) * width_);
    }
    for (std::size_t i = end - step; i < end; ++i) clipped += bins_[i];
  }
  return best;
}

double ActivationHistogram::least_squared_error(int levels) const {
  double best = largest_, least = std::numeric_limits<double>::infinity();
  for (std::size_t candidate = kCandidates; candidate > 0; --candidate) {
    const double limit = largest_ * static_cast<double>(candidate) / kCandidates, step = limit / levels;
    double sum = 0;
    for (std::size_t i = 0; i < kBins && sum < least; ++i) {
      if (bins_[i] == 0) continue;
      const double centre = (static_cast<double>(i) + 0.5) * width_;
      const double error = centre - std::min(limit, std::round(centre / step) * step);
      sum += static_cast<double>(bins_[i]) * error * error;
    }
    if (sum >= least) continue;
    least = sum;
    best = limit;
  }
  return best;
}

}  // namespace unstarve::infer
