#pragma once
// A worker's memory for blurring: rows already blurred along x. Private to this folder.

#include <cstddef>
#include <cstdint>

#include "unstarve/core/image.h"
#include "unstarve/core/memory/aligned.h"
#include "unstarve/ops/base/frame.h"

namespace unstarve {

class BlurRows final : public ScratchPart {
 public:
  // For rows of `values` values and neighbours within `radius`.
  void reserve(std::size_t values, int radius) {
    const Needs needs(values, radius);
    values_ = needs.values;
    blurred_.reserve_discard(needs.blurred);
    wide_.reserve_discard(needs.wide);
    sums_.reserve_discard(needs.sums);
  }
  // Bytes that the first reserve() allocates.
  [[nodiscard]] static std::uint64_t bytes(std::size_t values, int radius) {
    const Needs needs(values, radius);
    return AlignedBytes::capacity_for(needs.blurred) + AlignedBytes::capacity_for(needs.wide) +
           AlignedBytes::capacity_for(needs.sums);
  }
  [[nodiscard]] std::uint64_t bytes_held() const override {
    return blurred_.capacity() + wide_.capacity() + sums_.capacity();
  }
  // Row `i` of 2 * radius + 1.
  [[nodiscard]] std::uint16_t* blurred(int i) {
    return reinterpret_cast<std::uint16_t*>(blurred_.data()) + static_cast<std::size_t>(i) * values_;
  }
  // A row with `radius` pixels before and after it.
  [[nodiscard]] std::uint8_t* wide() { return wide_.data(); }
  [[nodiscard]] std::uint32_t* sums() { return reinterpret_cast<std::uint32_t*>(sums_.data()); }

 private:
  struct Needs {
    Needs(std::size_t row_values, int radius)
        : values((row_values + 63) / 64 * 64),
          blurred(static_cast<std::size_t>(2 * radius + 1) * values * sizeof(std::uint16_t)),
          wide(values + 2 * static_cast<std::size_t>(radius) * kChannels),
          sums(values * sizeof(std::uint32_t)) {}
    std::size_t values, blurred, wide, sums;
  };

  std::size_t values_ = 0;
  AlignedBytes blurred_, wide_, sums_;
};

}  // namespace unstarve
