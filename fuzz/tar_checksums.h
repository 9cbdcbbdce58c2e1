#pragma once
// A tar archive's checksums hide what lies behind them from a fuzzer: those of all blocks that say "ustar", put right.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

#include "unstarve/storage/formats/webdataset/tar_scanner.h"

namespace unstarve::fuzz {

inline void put_checksum(std::uint8_t* block) {
  std::memset(block + 148, ' ', 8);
  unsigned sum = 0;
  for (std::size_t i = 0; i < kTarBlockBytes; ++i) sum += block[i];
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  std::copy_n(text, 7, block + 148);
}

inline std::vector<std::uint8_t> with_tar_checksums(std::span<const std::uint8_t> archive) {
  std::vector<std::uint8_t> mended(archive.begin(), archive.end());
  for (std::size_t at = 0; at + kTarBlockBytes <= mended.size(); at += kTarBlockBytes) {
    if (std::memcmp(mended.data() + at + 257, "ustar", 5) == 0) put_checksum(mended.data() + at);
  }
  return mended;
}

}  // namespace unstarve::fuzz
