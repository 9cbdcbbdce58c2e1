#pragma once
// One Parquet file: its row groups and how to decode them. Or one Arrow IPC file, whose record batches are row groups.
// Hides Arrow, which only arrow_*.cpp include.
//
// Memory:    decoding is limited to 64 MB plus 1032 times the stored bytes for the pages, and as much for the result;
//            wrong lengths end in an Error(kInput).
// Ownership: shares the source. A RowGroup may point into its map and must not outlive it.
// Threads:   const; decode() may be called concurrently.
// Failure:   Error(kInput) with file and row group; Error(kIo) of the source; Error(kMissing) without Arrow, which
//            is loaded by the first call (arrow_module.h).

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "unstarve/core/memory/aligned.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/formats/parquet/columns.h"

namespace unstarve {

// Sixteen times the default of pyarrow; a group that declares more rows is damaged.
inline constexpr std::uint64_t kMaxGroupRows = std::uint64_t{1} << 24;

// The label of a row without a value.
inline constexpr std::int64_t kNullLabel = std::numeric_limits<std::int64_t>::min();

struct ParquetGroup {
  std::uint64_t rows = 0;
  std::uint64_t stored_bytes = 0;  // of the two columns
  // Size of the decoded images according to the footer; 0 if they are views of the map.
  std::uint64_t decoded_bytes = 0;
  std::optional<std::int64_t> largest_label;  // from the statistics, for numbers
};

// One decoded row group. Owns its images, except views of the mapped file, whose map outlives it.
struct RowGroup {
  std::vector<std::span<const std::uint8_t>> images;  // per row; data() is null if the row has none
  std::vector<std::int64_t> labels;                   // per row; empty without a label column; or kNullLabel
  std::vector<std::string> label_names;               // instead of `labels` until the names are numbered; "": none
  std::vector<AlignedBytes> blocks;
  std::uint64_t block_bytes = 0;  // total size of `blocks`

  [[nodiscard]] std::uint64_t memory_bytes() const {
    return sizeof(RowGroup) + images.capacity() * sizeof(images[0]) + labels.capacity() * sizeof(labels[0]) +
           block_bytes;
  }
};

class ParquetFile {
 public:
  explicit ParquetFile(std::shared_ptr<const ByteSource> source) : source_(std::move(source)) {}
  virtual ~ParquetFile() = default;
  [[nodiscard]] const std::string& name() const noexcept { return source_->name(); }
  [[nodiscard]] SourceStamp stamp() const noexcept { return source_->stamp(); }
  [[nodiscard]] const std::vector<ParquetGroup>& groups() const noexcept { return groups_; }
  [[nodiscard]] const ChosenColumns& columns() const noexcept { return columns_; }
  // A condition that is not an error; empty: none.
  [[nodiscard]] const std::string& note() const noexcept { return note_; }
  // Labels, and images if `with_images`. Precondition: group < groups().size().
  [[nodiscard]] virtual RowGroup decode(std::size_t group, bool with_images) const = 0;

 protected:
  const std::shared_ptr<const ByteSource> source_;
  ChosenColumns columns_;
  std::vector<ParquetGroup> groups_;
  std::string note_;
};

// `image` and `label` as for choose_columns().
[[nodiscard]] std::unique_ptr<const ParquetFile> open_parquet_file(std::shared_ptr<const ByteSource> source,
                                                                   const std::string& image, const std::string& label);
[[nodiscard]] std::unique_ptr<const ParquetFile> open_ipc_file(std::shared_ptr<const ByteSource> source,
                                                               const std::string& image, const std::string& label);

}  // namespace unstarve
