#pragma once
// Writes Parquet shards that Hugging Face `datasets` and pyarrow can read; an entry of the table of record_writer.h.
//
//   image   struct<bytes: binary, path: string>   the encoded image; the key of the record
//   label   int64                                 null: no label
//   footer key "huggingface": image is an Image, label a ClassLabel with the class names (a number without them)
//
// Images are neither compressed nor dictionary-encoded, so that they can be read without a copy (parquet.h). Pages have
// about 1 MB and a checksum, row groups about kRowGroupBytes: a remote reader fetches one at a time.
//
// Memory:    one row group. The position of the sink changes only when a row group is full.
// Threads and failure: as RecordWriter; Error(kMissing) from make_parquet_writer() without Arrow.

#include <memory>
#include <string>
#include <vector>

#include "unstarve/storage/dataset/record_writer.h"

namespace unstarve {

inline constexpr std::uint64_t kRowGroupBytes = std::uint64_t{8} << 20;
// Limit for datasets of tiny images; far below the limit of readers.
inline constexpr std::size_t kRowGroupRows = std::size_t{1} << 16;

// With at most `group_rows` rows per row group.
[[nodiscard]] std::unique_ptr<RecordWriter> make_parquet_writer(ByteSink& sink, const std::vector<std::string>& classes,
                                                                std::size_t group_rows = kRowGroupRows);

}  // namespace unstarve
