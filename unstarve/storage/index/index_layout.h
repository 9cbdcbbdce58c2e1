#pragma once
// Constants of the layout of the index sidecar (drawn in index_sidecar.h); fuzzing corrects checksums with them.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace unstarve::index_layout {

inline constexpr std::string_view kMagic = "UNSTIDX\n";
inline constexpr std::size_t kHeaderBytes = 56;
inline constexpr std::size_t kSectionBytes = 48;
inline constexpr std::size_t kMaxSections = 64;
inline constexpr std::size_t kRecordBytes = 32;
inline constexpr std::size_t kBlockRecords = 1024;  // per checksum: 32 KiB are checked in about 10 us
inline constexpr std::size_t kBlockCrcBytes = 4;
inline constexpr std::size_t kBlobEntryBytes = 16;
inline constexpr std::size_t kBlobCheckedBytes = 12;  // of the entry
inline constexpr std::size_t kAlignment = 8;
inline constexpr std::uint32_t kRecordsKind = 1;
inline constexpr std::uint32_t kBlobsKind = 2;
inline constexpr std::uint32_t kPartKind = 3;
inline constexpr std::size_t kNameBytes = 24;  // with at least one NUL
inline constexpr std::string_view kRecordsName = "records";

}  // namespace unstarve::index_layout
