#pragma once
// A worker's memory for blending images: the original and the weighted sum of its versions. Private to this folder.
//
// Integer sums with weights in 1/65536 that add up to one: every machine gives the same bits.
// Threads: one at a time per MixImages; the functions are pure.

#include <cstddef>
#include <cstdint>

#include "unstarve/core/image.h"
#include "unstarve/core/memory/aligned.h"
#include "unstarve/ops/base/frame.h"

namespace unstarve {

inline constexpr int kMixBits = 16;

struct MixImages final : ScratchPart {
  Image original;
  Image row;          // of one version
  AlignedBytes sums;  // a std::uint32_t for each of the image's values

  // Upper bound for images of a size.
  [[nodiscard]] static std::uint64_t bytes(Size size) {
    const std::size_t row = static_cast<std::size_t>(size.width) * kChannels,
                      values = row * static_cast<std::size_t>(size.height);
    return AlignedBytes::capacity_for(values + 64) + AlignedBytes::capacity_for(row + 64) +
           AlignedBytes::capacity_for(values * sizeof(std::uint32_t));
  }
  [[nodiscard]] std::uint64_t bytes_held() const override { return original.bytes() + row.bytes() + sums.capacity(); }
};

// sums[i] = (first ? 0 : sums[i]) + weight * values[i].
void add_weighted(const std::uint8_t* values, std::uint32_t weight, bool first, std::size_t count, std::uint32_t* sums);
// values[i] = sums[i] >> kMixBits.
void take_sums(const std::uint32_t* sums, std::size_t count, std::uint8_t* values);

}  // namespace unstarve
