#pragma once
// Reading and writing at a place of an open file until all of it is done, or the file goes no further.
//
// For callers to whom a failure is no error, or who have words of their own for it; write_fully.h throws.
// Threads: free functions; the file's position is neither used nor moved. A signal does not end them.

#include <cstdint>
#include <span>

namespace unstarve {

struct Transfer {
  std::uint64_t bytes = 0;  // done
  int error = 0;            // errno of what ended it early; 0 with fewer bytes than asked for: the file ended
};

[[nodiscard]] Transfer read_at(int descriptor, std::uint64_t at, std::span<std::uint8_t> out) noexcept;
// Whether all of it was there to read.
[[nodiscard]] inline bool read_whole(int descriptor, std::uint64_t at, std::span<std::uint8_t> out) noexcept {
  return read_at(descriptor, at, out).bytes == out.size();
}
// Fewer bytes always come with an error.
[[nodiscard]] Transfer write_at(int descriptor, std::uint64_t at, std::span<const std::uint8_t> bytes) noexcept;

}  // namespace unstarve
