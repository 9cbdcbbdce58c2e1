#pragma once
// The index of one shard of records: made by one pass of its format, kept in a sidecar, found again.
//
// Beside the records themselves (offset, length, label, image size) a sidecar of a shard holds
//
//   blobs "member"      the record's name, where the format has names
//   part  "made-by"     format, scan version, options: another text makes the index stale
//   part  "summary"     compression u32 | labels u32 | class numbers are below u32 | damaged records u64 |
//                       then the class names: number u32 | bytes u32 | name
//   part  "damage"      record u64 | bytes u32 | reason, for each damaged record
//   part  "points"      seek points of a compressed shard (inflate.cpp)
//
// Threads:   read-only. Failure: as index_sidecar.h.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/bytes/inflate.h"
#include "unstarve/storage/index/index_sidecar.h"
#include "unstarve/storage/index/record_format.h"
#include "unstarve/storage/io/past_cache.h"

namespace unstarve {

// The label of a record that scan() found damaged.
inline constexpr std::int32_t kDamagedLabel = -2;

enum class LabelKind : std::uint32_t {
  kNone,     // no record has a class
  kNumbers,  // class numbers, some of them named
  kNames,    // names; the numbers are the order of their first appearance in this shard
};

// What can be said of a shard without looking at its records.
struct ShardSummary {
  Compression compression = Compression::kNone;
  LabelKind labels = LabelKind::kNone;
  std::uint32_t classes = 0;  // numbers are below this
  std::uint64_t damaged = 0;
  std::vector<std::pair<std::uint32_t, std::string>> class_names;
  friend bool operator==(const ShardSummary&, const ShardSummary&) = default;
};

class ShardIndex {
 public:
  explicit ShardIndex(IndexSidecar sidecar);
  // Of bytes that were not kept anywhere.
  explicit ShardIndex(std::string bytes, const std::string& name);

  [[nodiscard]] const IndexView& view() const noexcept { return *view_; }
  [[nodiscard]] const ShardSummary& summary() const noexcept { return summary_; }
  // Why record `id` cannot be read. Precondition: its label is kDamagedLabel.
  [[nodiscard]] std::string reason(std::uint64_t id) const;
  // Name of the record, "" where the format has none.
  [[nodiscard]] std::string member(std::uint64_t id) const;

 private:
  std::unique_ptr<const IndexSidecar> sidecar_;
  std::unique_ptr<const std::string> bytes_;
  std::unique_ptr<const IndexView> own_view_;
  const IndexView* view_;
  ShardSummary summary_;
  int member_kind_;
};

// One pass over the shard, past the page cache where `room` is used up: the bytes of its index. Throws Error(kIo), and
// Error(kInput) for labels that are numbers in some records and names in others.
[[nodiscard]] std::string make_index(const ByteSource& shard, const RecordFormat& format,
                                     CacheRoom& room = CacheRoom::of_process());

// Reads the index of `shard`, or makes it and, with `keep`, writes it. Where it could not be kept `note` says why.
[[nodiscard]] ShardIndex find_or_make_index(const ByteSource& shard, const RecordFormat& format, bool keep,
                                            std::string& note);

// Makes the index again because that of name `damaged` (IndexView::name()) is, and with `keep` writes it. `note` says
// why where it could not be written, or not in the place of the damaged one.
[[nodiscard]] ShardIndex remake_index(const ByteSource& shard, const RecordFormat& format, bool keep,
                                      const std::string& damaged, std::string& note);

}  // namespace unstarve
