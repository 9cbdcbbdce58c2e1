#pragma once
// One column of one row group, out of Arrow's readers into a RowGroup. Included only by the arrow_*.cpp, as it includes
// Arrow's headers.
//
// Threads: free functions; an ImageRoom and a RowGroup one at a time. Failure: Error(kInput) for values that are fewer
// than rows, more than their limit, or none of a dictionary's; parquet::ParquetException for what Arrow finds.

#include <parquet/column_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <cstdint>
#include <optional>
#include <span>

#include "unstarve/storage/formats/parquet/columns.h"
#include "unstarve/storage/formats/parquet/row_group.h"

namespace unstarve {

// Takes the images of a row group to where they can stay: those in the map do already. `expected`: about so many bytes;
// more than `limit` is an error. Borrows the group.
class ImageRoom {
 public:
  ImageRoom(RowGroup& group, std::span<const std::uint8_t> mapped, std::uint64_t expected, std::uint64_t limit)
      : group_(group), mapped_(mapped), expected_(expected), limit_(limit) {}

  std::span<const std::uint8_t> keep(const parquet::ByteArray& value);

 private:
  std::uint8_t* take(std::size_t bytes);

  RowGroup& group_;
  std::span<const std::uint8_t> mapped_;
  std::uint64_t expected_, limit_, used_ = 0;
  std::uint8_t* at_ = nullptr;
  std::size_t left_ = 0;
};

[[nodiscard]] ParquetLeaf leaf_of(const parquet::ColumnDescriptor& column);

// The largest label by the statistics; nothing where they do not tell.
[[nodiscard]] std::optional<std::int64_t> largest_by_statistics(const parquet::ColumnChunkMetaData& column);

// An image per row, a null one (no data) where the row has none. A chunk that is dictionary-encoded as a whole keeps
// each entry once, however many rows refer to it, where `column` exposes that encoding.
void read_images(parquet::ColumnReader& column, std::uint64_t rows, RowGroup& group, ImageRoom& room);

// A number or, of texts, a name per row; -1 or "" where the row has none.
void read_labels(parquet::ColumnReader& column, std::uint64_t rows, RowGroup& group);

}  // namespace unstarve
