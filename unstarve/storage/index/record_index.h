#pragma once
// The index of one shard of records: built by one pass of its format, saved in a sidecar, found again.
//
// Besides the records (offset, length, label, image size) the sidecar of a shard has
//
//   blobs "member"      the record's name, if the format has names
//   part  "made-by"     format, scan version, options: another text makes the index stale
//   part  "summary"     compression u32 | labels u32 | class numbers are below u32 | damaged records u64 |
//                       then the class names: number u32 | bytes u32 | name
//   part  "damage"      record u64 | bytes u32 | reason, for each damaged record
//   part  "points"      seek points of a compressed shard (inflate.cpp)
//
// Threads:   read-only. Failure: as index_sidecar.h.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/bytes/inflate.h"
#include "unstarve/storage/index/index_sidecar.h"
#include "unstarve/storage/index/record_format.h"

namespace unstarve {

// The label of a record that scan() reported as damaged.
inline constexpr std::int32_t kDamagedLabel = -2;

enum class LabelKind : std::uint32_t {
  kNone,     // no record has a class
  kNumbers,  // class numbers, some of them named
  kNames,    // names, numbered in the order of their first occurrence in this shard
  kTexts,    // the same, but they are numbers if the texts of all shards are
};

// The properties of a shard as a whole.
struct ShardSummary {
  Compression compression = Compression::kNone;
  LabelKind labels = LabelKind::kNone;
  std::uint32_t classes = 0;  // class numbers are below this
  std::uint64_t damaged = 0;
  std::vector<std::pair<std::uint32_t, std::string>> class_names;
  friend bool operator==(const ShardSummary&, const ShardSummary&) = default;
};

class ShardIndex {
 public:
  explicit ShardIndex(std::shared_ptr<const IndexView> view);

  [[nodiscard]] const IndexView& view() const noexcept { return *view_; }
  [[nodiscard]] const ShardSummary& summary() const noexcept { return summary_; }
  // Why record `id` cannot be read. Precondition: its label is kDamagedLabel.
  [[nodiscard]] std::string reason(std::uint64_t id) const;
  // Name of the record; "" if the format has none.
  [[nodiscard]] std::string member(std::uint64_t id) const;

 private:
  std::shared_ptr<const IndexView> view_;
  ShardSummary summary_;
  int member_kind_;
};

// The class number that a label given as text is; nothing if it is a name.
[[nodiscard]] std::optional<std::int32_t> number_of_text(std::string_view text) noexcept;

// How to fix labels that are numbers and names, for messages; empty if the format has no option for it.
[[nodiscard]] std::string use_names(const RecordFormat& format);

// One pass over the shard: the bytes of its index. Throws Error(kIo), and Error(kInput) if labels are numbers in some
// records and names in others.
[[nodiscard]] std::string build_index(const ByteSource& shard, const RecordFormat& format);

// Reads the index of `shard`, or builds it and, with `save`, writes it. `note`: why it could not be saved.
[[nodiscard]] ShardIndex find_or_build_index(const ByteSource& shard, const RecordFormat& format, bool save,
                                             std::string& note);

// Rebuilds the index because the file `damaged` (IndexView::name()) is damaged and, with `save`, writes it. `note`: why
// it could not be saved, or could not replace the damaged file.
[[nodiscard]] ShardIndex rebuild_index(const ByteSource& shard, const RecordFormat& format, bool save,
                                       const std::string& damaged, std::string& note);

}  // namespace unstarve
