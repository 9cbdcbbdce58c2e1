#pragma once
// Complete reads and writes at an offset of an open file: they continue until all bytes are transferred or an error or
// the end of the file is reached.
//
// read_at() and write_at() are for callers that handle failures themselves; write_fully() throws.
// Threads: free functions; the file's position is neither used nor moved. Interrupted calls are repeated.

#include <cstdint>
#include <span>
#include <string>

namespace unstarve {

struct Transfer {
  std::uint64_t bytes = 0;  // transferred
  int error = 0;            // errno, or 0; 0 with fewer bytes than requested means end of file
};

[[nodiscard]] Transfer read_at(int descriptor, std::uint64_t at, std::span<std::uint8_t> out) noexcept;
// Whether `out` was filled completely.
[[nodiscard]] inline bool read_whole(int descriptor, std::uint64_t at, std::span<std::uint8_t> out) noexcept {
  return read_at(descriptor, at, out).bytes == out.size();
}
// A short write always has an error.
[[nodiscard]] Transfer write_at(int descriptor, std::uint64_t at, std::span<const std::uint8_t> bytes) noexcept;

// Writes `bytes` at offset `at`; `path` names the file in errors. Throws Error(kIo). For a full disk, an exceeded quota
// or file size limit, the message reports the bytes written so far and the free space or the limit:
// "write <path>: No space left on device after 8192 bytes; 0 bytes are free".
void write_fully(int descriptor, const std::string& path, std::uint64_t at, std::span<const std::uint8_t> bytes);

}  // namespace unstarve
