#pragma once
// One Parquet file, its footer read: the row groups and how to decode one. The narrow door to Arrow: what is behind it
// is in the arrow_*.cpp alone.
//
// Memory:    decoding a group may take the cap below for the pages, and as much for the result; lengths that lie end
//            there in an Error(kInput).
// Ownership: holds the source. A RowGroup may point into its map and must not outlive it.
// Threads:   const, any number of them; every decode() has readers of its own.
// Failure:   Error(kInput) naming file and row group; Error(kIo) of the source; Error(kMissing) without Arrow.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/formats/parquet/columns.h"
#include "unstarve/storage/formats/parquet/row_group.h"

namespace unstarve {

// Sixteen times what pyarrow writes by default: a group that says it has more rows lies.
inline constexpr std::uint64_t kMaxGroupRows = std::uint64_t{1} << 24;

struct ParquetGroup {
  std::uint64_t rows = 0;
  std::uint64_t stored_bytes = 0;  // of the two columns
  // What the images will take when decoded, as the footer says; 0 where they are handed out from the map.
  std::uint64_t decoded_bytes = 0;
  std::optional<std::int64_t> largest_label;  // by the statistics, for numbers
};

class ParquetFile {
 public:
  virtual ~ParquetFile() = default;
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
  [[nodiscard]] virtual const std::vector<ParquetGroup>& groups() const noexcept = 0;
  [[nodiscard]] virtual const ChosenColumns& columns() const noexcept = 0;
  // Precondition: group < groups().size().
  [[nodiscard]] virtual RowGroup decode(std::size_t group) const = 0;
  [[nodiscard]] virtual RowGroup decode_labels(std::size_t group) const = 0;
  // Brings the stored bytes of the other columns and drops them; how many. Theirs in other files are left alone.
  [[nodiscard]] virtual std::uint64_t read_others(std::size_t group) const = 0;
};

// `image` and `label` as for choose_columns().
[[nodiscard]] std::unique_ptr<const ParquetFile> open_parquet_file(std::shared_ptr<const ByteSource> source,
                                                                   const std::string& image, const std::string& label);

}  // namespace unstarve
