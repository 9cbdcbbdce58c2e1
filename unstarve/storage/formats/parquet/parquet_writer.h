#pragma once
// Shards of Parquet as Hugging Face's `datasets` and pyarrow read them: a row of the table of record_writer.h.
//
//   image   struct<bytes: binary, path: string>   the encoded image; the record's key
//   label   int64                                 null for none
//   footer's key "huggingface": image is an Image, label a ClassLabel with the classes' names (a number without them)
//
// Images are stored neither compressed nor dictionary-encoded, so that they are read in place (parquet.h), in pages of
// about 1 MB that each have a checksum, in row groups of about kRowGroupBytes: what a reader far away fetches at once.
//
// Memory:    one row group. The sink's position moves only when one is full.
// Threads and failure: as RecordWriter; Error(kMissing) from make_parquet_writer() in a build without Arrow.

#include <memory>
#include <string>
#include <vector>

#include "unstarve/storage/dataset/record_writer.h"

namespace unstarve {

inline constexpr std::uint64_t kRowGroupBytes = std::uint64_t{8} << 20;
// Far fewer than a reader accepts, for sets of tiny images.
inline constexpr std::size_t kRowGroupRows = std::size_t{1} << 16;

[[nodiscard]] std::unique_ptr<RecordWriter> make_parquet_writer(ByteSink& sink,
                                                                const std::vector<std::string>& classes);
// With at most `group_rows` rows in a row group.
[[nodiscard]] std::unique_ptr<RecordWriter> make_parquet_writer(ByteSink& sink, const std::vector<std::string>& classes,
                                                                std::size_t group_rows);

}  // namespace unstarve
