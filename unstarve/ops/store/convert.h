#pragma once
// Converts a run of 8-bit values to normalised float32, bfloat16 or float16: the second half of a store. Private to
// ops.
//
// The same bits everywhere: instruction sets with a fused multiply-add compute the values, others look them up in
// `table`, which std::fma has computed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "unstarve/core/image.h"
#include "unstarve/ops/store/element_bits.h"
#include "unstarve/ops/store/store.h"

namespace unstarve {

// The normalised values of each channel as constants and as a table of all 256.
struct ValueMap {
  std::array<float, kChannels> scale{};
  std::array<float, kChannels> bias{};
  alignas(64) std::array<std::array<float, 256>, kChannels> table{};
};

// Throws Error(kArgument) if a std is 0 or a value not finite.
[[nodiscard]] std::shared_ptr<const ValueMap> make_map(const Normalisation& normalisation);

enum class Destination {
  kCache,   // ordinary writes
  kMemory,  // streaming stores that bypass the cache; call finish_streaming() before another thread reads them
};

// Where values are written, and as what. Not kUint8.
struct Elements {
  ElementType type;
  void* data;
  Destination how;
};

// Of one channel.
void convert_plane(const ValueMap& map, int channel, std::span<const std::uint8_t> from, const Elements& to);
// Of interleaved channels, starting with the first.
void convert_interleaved(const ValueMap& map, std::span<const std::uint8_t> from, const Elements& to);

// Copies `count` bytes as with Destination::kMemory.
void copy_bypassing_cache(const std::uint8_t* from, std::size_t count, std::uint8_t* to);

void finish_streaming() noexcept;

}  // namespace unstarve
