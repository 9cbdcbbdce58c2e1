#pragma once
// Complete writes to an open file, with a detailed error for a full disk. Threads: a free function.

#include <cstdint>
#include <span>
#include <string>

namespace unstarve {

// Writes `bytes` at offset `at`; `path` names the file in errors. Throws Error(kIo). For a full disk, an exceeded quota
// or file size limit, the message reports the bytes written so far and the free space or the limit:
// "write <path>: No space left on device after 8192 bytes; 0 bytes are free".
void write_fully(int descriptor, const std::string& path, std::uint64_t at, std::span<const std::uint8_t> bytes);

}  // namespace unstarve
