#pragma once
// What decoding costs per byte and per pixel, fitted to what it took: least squares, older measurements fading.
//
// Threads: one at a time.

#include <cstdint>

#include "unstarve/codecs/nvjpeg/decode_split.h"

namespace unstarve {

class DecodeRateFit {
 public:
  // A measurement counts half of a new one after `half_life` of these.
  explicit DecodeRateFit(double half_life);

  void add(double bytes, double pixels, double seconds);
  [[nodiscard]] std::uint64_t measurements() const { return count_; }
  // Neither is negative: where the best fit's would be, that by the other one alone. Zeros before the first.
  [[nodiscard]] DecodeRate rate() const;

 private:
  double fade_;
  double bb_ = 0, bp_ = 0, pp_ = 0, bs_ = 0, ps_ = 0;  // sums of products of bytes, pixels and seconds
  std::uint64_t count_ = 0;
};

}  // namespace unstarve
