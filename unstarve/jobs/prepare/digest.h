#pragma once
// The checksums that archives are published with, of whole files, by OpenSSL.
//
// Threads: pure but for reading the file. Failure: Error(kIo). Cost: one pass; MD5 some 600 MB/s, SHA-256 more where
// the processor has instructions for it.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace unstarve {

struct FileDigests {
  std::string md5, sha256;  // lower-case hexadecimal; empty where not asked for
  std::uint64_t bytes = 0;
};

// `advanced` is told how many bytes have been read since it was told last; what it throws ends the reading.
[[nodiscard]] FileDigests digest_file(const std::filesystem::path& path, bool md5, bool sha256,
                                      const std::function<void(std::uint64_t bytes)>& advanced = {});

}  // namespace unstarve
