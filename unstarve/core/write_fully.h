#pragma once
// Writing to an open file until all of it is written, and an error that tells what a full disk left.
//
// Threads: free functions.

#include <cstdint>
#include <span>
#include <string>

namespace unstarve {

// Writes `bytes` at byte `at` of the file; `path` is its name for the error. Throws Error(kIo); of a full disk, quota
// or file size it tells how far the file came, and what is free there or which limit it is: "write <path>: No space
// left on device after 8192 bytes of it; 0 bytes are free".
void write_fully(int descriptor, const std::string& path, std::uint64_t at, std::span<const std::uint8_t> bytes);

}  // namespace unstarve
