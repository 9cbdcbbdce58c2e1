#pragma once
// Corrects the checksums of all blocks of a tar archive that have the magic "ustar", so that a fuzzer gets past them.

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
  std::vector<std::uint8_t> corrected(archive.begin(), archive.end());
  for (std::size_t offset = 0; offset + kTarBlockBytes <= corrected.size(); offset += kTarBlockBytes) {
    if (std::memcmp(corrected.data() + offset + 257, "ustar", 5) == 0) put_checksum(corrected.data() + offset);
  }
  return corrected;
}

}  // namespace unstarve::fuzz
