#pragma once
// Checksums of whole files, computed with OpenSSL.
//
// Threads: free function. Failure: Error(kIo). Cost: one pass; MD5 about 600 MB/s, SHA-256 faster if the CPU has
// instructions for it.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace unstarve {

enum class Checksum { kMd5, kSha256 };

// Lower-case hexadecimal. `advanced` is called with the number of bytes read since its last call; its exceptions stop
// the reading.
[[nodiscard]] std::string digest_file(const std::filesystem::path& path, Checksum kind,
                                      const std::function<void(std::uint64_t bytes)>& advanced = {});

}  // namespace unstarve
