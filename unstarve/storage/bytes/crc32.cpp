#include "unstarve/storage/bytes/crc32.h"

#include <zlib.h>

namespace unstarve {

std::uint32_t crc32(std::span<const std::uint8_t> bytes, std::uint32_t crc) noexcept {
  if (bytes.empty()) return crc;  // zlib returns 0 for a null pointer
  return static_cast<std::uint32_t>(::crc32_z(crc, bytes.data(), bytes.size()));
}

}  // namespace unstarve
