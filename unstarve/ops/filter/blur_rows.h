#pragma once
// A worker's memory for blurring: rows that are blurred along x and wait for those below. Private to this folder and to
// Scratch, which keeps it.

#include <cstddef>
#include <cstdint>

#include "unstarve/core/aligned.h"
#include "unstarve/core/image.h"

namespace unstarve {

class BlurRows {
 public:
  // For rows of so many values, and the neighbours within `radius`.
  void reserve(std::size_t values, int radius) {
    values_ = (values + 63) / 64 * 64;
    const auto rows = static_cast<std::size_t>(2 * radius + 1);
    blurred_.reserve_discard(rows * values_ * sizeof(std::uint16_t));
    wide_.reserve_discard(values_ + 2 * static_cast<std::size_t>(radius) * kChannels);
    sums_.reserve_discard(values_ * sizeof(std::uint32_t));
  }
  // What the first reserve() takes, at most: large blocks are whole pages.
  [[nodiscard]] static std::uint64_t bytes(std::size_t values, int radius) {
    const std::uint64_t row = (values + 63) / 64 * 64, rows = static_cast<std::uint64_t>(2 * radius + 1);
    return rows * row * sizeof(std::uint16_t) + row + 2 * static_cast<std::uint64_t>(radius) * kChannels +
           row * sizeof(std::uint32_t) + 3 * kPage;
  }
  [[nodiscard]] std::uint64_t held() const { return blurred_.capacity() + wide_.capacity() + sums_.capacity(); }
  // Row `i` of 2 * radius + 1.
  [[nodiscard]] std::uint16_t* blurred(int i) {
    return reinterpret_cast<std::uint16_t*>(blurred_.data()) + static_cast<std::size_t>(i) * values_;
  }
  // A row with `radius` pixels before and behind it.
  [[nodiscard]] std::uint8_t* wide() { return wide_.data(); }
  [[nodiscard]] std::uint32_t* sums() { return reinterpret_cast<std::uint32_t*>(sums_.data()); }

 private:
  static constexpr std::uint64_t kPage = 4096;
  std::size_t values_ = 0;
  AlignedBytes blurred_, wide_, sums_;
};

}  // namespace unstarve
