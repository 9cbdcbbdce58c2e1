#pragma once
// 8-bit values to normalised float32, bfloat16 or float16 in one straight run: the second half of a store. Private
// to ops.
//
// Same bits everywhere: instruction sets with a fused multiply-add compute it; the others look the result up in
// `table`, which was computed by std::fma.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "unstarve/core/image.h"
#include "unstarve/ops/store/element_bits.h"
#include "unstarve/ops/store/store.h"

namespace unstarve {

// What the 256 pixel values of each channel become, and the constants that say the same.
struct ValueMap {
  std::array<float, kChannels> scale{};
  std::array<float, kChannels> bias{};
  alignas(64) std::array<std::array<float, 256>, kChannels> table{};
};

// Throws Error(kArgument) when a std is 0 or a value not finite.
[[nodiscard]] std::shared_ptr<const ValueMap> make_map(const Normalisation& normalisation);

enum class Destination {
  kCache,   // ordinary writes
  kMemory,  // whole cache lines past the cache; finish_streaming() must follow before another thread may read them
};

// `count` values of one channel.
void convert_plane(const ValueMap& map, int channel, const std::uint8_t* from, std::size_t count, float* to,
                   Destination how);
void convert_plane(const ValueMap& map, int channel, const std::uint8_t* from, std::size_t count, Bfloat16* to,
                   Destination how);
void convert_plane(const ValueMap& map, int channel, const std::uint8_t* from, std::size_t count, Float16* to,
                   Destination how);
// `count` values that go through the channels in turn, beginning with the first.
void convert_interleaved(const ValueMap& map, const std::uint8_t* from, std::size_t count, float* to, Destination how);
void convert_interleaved(const ValueMap& map, const std::uint8_t* from, std::size_t count, Bfloat16* to,
                         Destination how);
void convert_interleaved(const ValueMap& map, const std::uint8_t* from, std::size_t count, Float16* to,
                         Destination how);

// `count` bytes as they are, as to Destination::kMemory.
void copy_past_cache(const std::uint8_t* from, std::size_t count, std::uint8_t* to);

void finish_streaming() noexcept;

}  // namespace unstarve
