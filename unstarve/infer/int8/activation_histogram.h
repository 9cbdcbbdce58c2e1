#pragma once
// The magnitudes of a stream of activations, in fixed memory, and the largest magnitude that int8 should represent.
//
// One pass serves all methods. Magnitudes are counted in bins of equal width; if one exceeds the last bin, bins are
// merged in pairs, which doubles their width. Zeros are not counted, because int8 represents them exactly.
//
// Threads: one. Memory: 16 KiB, and 37 KB of stack in add().
// Sources: entropy: Migacz, "8-bit inference with TensorRT", GTC 2017.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace unstarve::infer {

enum class CalibrationMethod : std::uint8_t {
  kMinMax,      // the largest magnitude
  kPercentile,  // 99.99 % of the values that are not zero
  kEntropy,     // least Kullback-Leibler divergence between the distributions before and after
  kMse,         // least mean squared error of rounding and clipping
};
inline constexpr std::array kCalibrationMethods{CalibrationMethod::kMinMax, CalibrationMethod::kPercentile,
                                                CalibrationMethod::kEntropy, CalibrationMethod::kMse};
// "min-max", "percentile", "entropy", "mse"
[[nodiscard]] std::string_view name_of(CalibrationMethod method) noexcept;

class ActivationHistogram {
 public:
  static constexpr std::size_t kBins = 2048;

  // At most 2^32 - 1 values. False if a value is not a finite number; nothing is counted then.
  [[nodiscard]] bool add(std::span<const float> values);

  [[nodiscard]] double largest() const { return largest_; }
  // The magnitude that the largest of `levels` positive integers should represent; 0 if all values are zero.
  // `levels`: 127 for int8, 255 for uint8.
  [[nodiscard]] double limit(CalibrationMethod method, int levels) const;

 private:
  void widen(double magnitude);
  [[nodiscard]] double percentile(double share) const;
  [[nodiscard]] double least_divergence(std::size_t levels) const;
  [[nodiscard]] double least_squared_error(int levels) const;

  std::array<std::uint64_t, kBins> bins_{};
  double width_ = 0;  // of a bin; 0: nothing was counted
  double largest_ = 0;
};

}  // namespace unstarve::infer
