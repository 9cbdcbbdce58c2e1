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

struct FileDigests {
  std::string md5, sha256;  // lower-case hexadecimal; empty if not requested
  std::uint64_t bytes = 0;
};

// `advanced` is called with the number of bytes read since its last call; its exceptions stop the reading.
[[nodiscard]] FileDigests digest_file(const std::filesystem::path& path, bool md5, bool sha256,
                                      const std::function<void(std::uint64_t bytes)>& advanced = {});

}  // namespace unstarve
