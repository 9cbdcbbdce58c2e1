#pragma once
// Fits the cost of decoding per byte and per pixel to measurements: least squares with decaying weights.
//
// Threads: one at a time.

#include <cstdint>

#include "unstarve/codecs/nvjpeg/decode_split.h"

namespace unstarve {

class DecodeRateFit {
 public:
  // The weight of a measurement halves with every `half_life` further ones.
  explicit DecodeRateFit(double half_life);

  void add(double bytes, double pixels, double seconds);
  [[nodiscard]] std::uint64_t measurements() const { return count_; }
  // Rates are not negative: if the best fit of one is, only the other is fitted. Zeros before the first measurement.
  [[nodiscard]] DecodeRate rate() const;

 private:
  double fade_;
  double bb_ = 0, bp_ = 0, pp_ = 0, bs_ = 0, ps_ = 0;  // sums of products of bytes, pixels and seconds
  std::uint64_t count_ = 0;
};

}  // namespace unstarve
