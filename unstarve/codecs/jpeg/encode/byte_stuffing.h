#pragma once
// Byte stuffing (T.81, F.1.2.3): in a scan's data, a zero byte follows each FF, so that it is not taken for a marker.
//
// Threads: a pure function.

#include <cstddef>
#include <cstdint>

namespace unstarve {

inline constexpr std::size_t kStuffingSlack = 64;

// Copies `bytes` bytes with stuffing and returns how many it wrote. `target` has room for twice as many and
// kStuffingSlack; they do not overlap.
[[nodiscard]] std::size_t stuff_bytes(const std::uint8_t* source, std::size_t bytes, std::uint8_t* target);

}  // namespace unstarve
