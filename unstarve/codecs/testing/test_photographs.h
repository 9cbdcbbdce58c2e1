#pragma once
// For tests: the encoded photographs of imagenet160.tar, if available.

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>

#include "unstarve/core/file.h"

namespace unstarve::testing {

// A tar archive (POSIX.1-1988): a header of 512 bytes with the size in octal at offset 124, then the file, padded to a
// multiple of 512.
template <typename Visit>
void for_each_file(std::span<const std::uint8_t> tar, Visit visit) {
  constexpr std::size_t kBlock = 512;
  for (std::size_t at = 0; at + kBlock <= tar.size() && tar[at] != 0;) {
    const auto* header = reinterpret_cast<const char*>(tar.data() + at);
    const std::size_t size = std::strtoull(std::string(header + 124, 11).c_str(), nullptr, 8);
    REQUIRE(size <= tar.size() - at - kBlock);
    if (header[156] == '0' && size > 0) visit(tar.subspan(at + kBlock, size));
    at += kBlock + (size + kBlock - 1) / kBlock * kBlock;
  }
}

// The archive's path; empty with a warning if it is missing.
inline std::filesystem::path photographs() {
  const char* folder = std::getenv("UNSTARVE_DATA");
  const auto path = std::filesystem::path(folder != nullptr ? folder : "../shared/data") / "imagenet160.tar";
  if (std::filesystem::exists(path)) return path;
  WARN("SKIPPED, nothing is checked with photographs: " << path.string() << " is missing (UNSTARVE_DATA)");
  return {};
}

}  // namespace unstarve::testing
