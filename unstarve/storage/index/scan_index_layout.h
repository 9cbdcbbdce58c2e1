#pragma once
// The parts of a file of scan indexes; drawn in scan_index_store.h.
//
// Threads: pure functions.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace unstarve {

// The result of a look-up of an index.
enum class FoundIndex { kNone, kRight, kDamaged };

namespace scan_index_layout {

inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::size_t kEntryBytes = 16;
// More than the index of any supported image: 4 million MCUs at 20 bytes for eight of them.
inline constexpr std::uint32_t kMaxBytes = 16u << 20;

using Entry = std::array<std::uint8_t, kEntryBytes>;

[[nodiscard]] std::string header_of(std::uint64_t records, std::uint64_t key);
enum class Head {
  kDamaged,
  kOtherVersion,  // of the layout; other fields are unknown
  kWhole,         // of this version, for any data
};
[[nodiscard]] Head head_of(std::span<const std::uint8_t, kHeaderBytes> header);
// Precondition: head_of() is kWhole.
[[nodiscard]] std::uint64_t records_of(std::span<const std::uint8_t, kHeaderBytes> header);
[[nodiscard]] std::uint64_t key_of(std::span<const std::uint8_t, kHeaderBytes> header);
// The entry of an index at `offset` of the file.
[[nodiscard]] Entry entry_of(std::uint64_t offset, std::span<const std::uint8_t> index);
// Whether the kEntryBytes are all 0: no index.
[[nodiscard]] bool is_empty(const std::uint8_t* entry);
[[nodiscard]] constexpr std::uint64_t entry_offset(std::uint64_t id) { return kHeaderBytes + id * kEntryBytes; }

}  // namespace scan_index_layout
}  // namespace unstarve
