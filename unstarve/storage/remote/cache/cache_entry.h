#pragma once
// One file of the disk cache: a range of one object, with a checksum per block so that a part of it can be read and
// checked alone.
//
//   0   "USTCACH1"
//   8   offset in the object            16  length, at least 1          (all numbers little-endian)
//   24  bytes per block: 65536          28  CRC-32 of everything before the data, with these 4 bytes as 0
//   32  SHA-256 of the object's identity
//   64  CRC-32 of each block
//   ... the data, up to the end of the file
//
// Threads: free functions, on different files. Failure: returned as values; a damaged file is an expected outcome.

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/remote/http/sha256.h"

namespace unstarve::remote {

inline constexpr std::uint32_t kCacheBlockBytes = 65536;

enum class EntryRead {
  kRead,
  kAbsent,   // no such file
  kDamaged,  // its contents differ from what was written
};

// The bytes [offset, offset + length) of an object.
struct CacheExtent {
  std::uint64_t offset = 0, length = 0;
};

// The name of an entry's file: "OFFSET-LENGTH". Nothing if `name` is not such a name.
[[nodiscard]] std::string cache_entry_name(const CacheExtent& entry);
[[nodiscard]] std::optional<CacheExtent> parse_cache_entry_name(const std::string& name);
// The names of files that are being written begin with this.
inline constexpr const char* kPartialEntryPrefix = ".partial-";

// Reads a range of `object` from the file at `path`, which has the bytes `entry` and must include the range. A file
// that cannot be read counts as damaged. Updates the time of last use if it is older than 10 seconds.
[[nodiscard]] EntryRead read_cache_entry(const std::filesystem::path& path, const Sha256& object,
                                         const CacheExtent& entry, const ReadRange& range);

// The part before the data of an entry with `bytes` at `offset`.
[[nodiscard]] std::vector<std::uint8_t> cache_entry_head(const Sha256& object, std::uint64_t offset,
                                                         std::span<const std::uint8_t> bytes);
[[nodiscard]] std::uint64_t cache_entry_head_bytes(std::uint64_t length) noexcept;

// Space on the disk, in whole blocks of 4 KiB: of a file, and of the entry of a range of `length` bytes.
[[nodiscard]] constexpr std::uint64_t disk_bytes(std::uint64_t file_bytes) noexcept {
  return (file_bytes + 4095) / 4096 * 4096;
}
[[nodiscard]] inline std::uint64_t cache_entry_disk_bytes(std::uint64_t length) noexcept {
  return disk_bytes(cache_entry_head_bytes(length) + length);
}

}  // namespace unstarve::remote
