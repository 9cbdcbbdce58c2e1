#pragma once
// Byte stuffing (T.81, F.1.2.3): inserts a zero byte after each FF of a scan's data, which distinguishes it from a
// marker.
//
// Threads: a pure function.

#include <cstddef>
#include <cstdint>

namespace unstarve {

inline constexpr std::size_t kStuffingSlack = 64;

// Copies `bytes` bytes with stuffing and returns the number written. `target` has room for twice as many bytes and
// kStuffingSlack; source and target do not overlap.
[[nodiscard]] std::size_t stuff_bytes(const std::uint8_t* source, std::size_t bytes, std::uint8_t* target);

}  // namespace unstarve
