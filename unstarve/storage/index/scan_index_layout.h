#pragma once
// The pieces that a file of scan indexes is made of; scan_index_store.h draws them.
//
// Threads: pure functions.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace unstarve {

// What such a file holds in an index's place.
enum class FoundIndex { kNone, kRight, kDamaged };

namespace scan_index_layout {

inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::size_t kEntryBytes = 16;
// Larger than the index of any image the decoder takes: 4 million MCUs at 20 bytes for eight of them.
inline constexpr std::uint32_t kMostBytes = 16u << 20;

using Entry = std::array<std::uint8_t, kEntryBytes>;

[[nodiscard]] std::string header_of(std::uint64_t records, std::uint64_t key);
enum class Head {
  kDamaged,
  kOtherVersion,  // of the layout; what else it says is not known
  kWhole,         // of this version, of whatever data
};
[[nodiscard]] Head head_of(std::span<const std::uint8_t, kHeaderBytes> header);
// What a whole one says.
[[nodiscard]] std::uint64_t records_of(std::span<const std::uint8_t, kHeaderBytes> header);
[[nodiscard]] std::uint64_t key_of(std::span<const std::uint8_t, kHeaderBytes> header);
// Of an index at `offset` of the file.
[[nodiscard]] Entry entry_of(std::uint64_t offset, std::span<const std::uint8_t> index);
// Whether the kEntryBytes there are of no index: all 0.
[[nodiscard]] bool is_empty(const std::uint8_t* entry);
[[nodiscard]] constexpr std::uint64_t entry_place(std::uint64_t id) { return kHeaderBytes + id * kEntryBytes; }

}  // namespace scan_index_layout
}  // namespace unstarve
