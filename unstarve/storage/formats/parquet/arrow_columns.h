#pragma once
// Copies one column of one row group from Arrow's readers to a RowGroup. Includes Arrow headers, so only arrow_*.cpp
// include it.
//
// Threads: free functions; an ImageStore and a RowGroup are used by one thread at a time.
// Failure: Error(kInput) if there are fewer values than rows, if the images exceed the limit, or for an invalid
//          dictionary index; parquet::ParquetException for errors found by Arrow.

#include <parquet/column_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "unstarve/storage/formats/parquet/parquet_file.h"

namespace unstarve {

// Of a class name; a longer one was read from a column of other content.
inline constexpr std::size_t kMaxNameBytes = 4096;

// Stores the images of a row group: copies them to blocks of the group, except images that are in the map already.
// `expected`: the approximate number of bytes; more than `limit` is an error. Borrows the group.
class ImageStore {
 public:
  ImageStore(RowGroup& group, std::span<const std::uint8_t> mapped, std::uint64_t expected, std::uint64_t limit)
      : group_(group), mapped_(mapped), expected_(expected), limit_(limit) {}

  std::span<const std::uint8_t> add(const parquet::ByteArray& value);

 private:
  std::uint8_t* allocate(std::size_t bytes);

  RowGroup& group_;
  std::span<const std::uint8_t> mapped_;
  std::uint64_t expected_, limit_, used_ = 0;
  std::uint8_t* next_ = nullptr;
  std::size_t left_ = 0;
};

[[nodiscard]] ParquetLeaf leaf_of(const parquet::ColumnDescriptor& column);

// The largest label according to the column statistics; nullopt if they do not contain it.
[[nodiscard]] std::optional<std::int64_t> largest_by_statistics(const parquet::ColumnChunkMetaData& column);

// Appends one image per row; data() is null if the row has none. If the whole chunk is dictionary-encoded and `column`
// exposes that encoding, each entry is stored once.
void read_images(parquet::ColumnReader& column, std::uint64_t rows, RowGroup& group, ImageStore& store);

// Appends one number per row, or one name if the column holds strings; kNullLabel or "" if the row
// has none.
void read_labels(parquet::ColumnReader& column, std::uint64_t rows, RowGroup& group);

}  // namespace unstarve
