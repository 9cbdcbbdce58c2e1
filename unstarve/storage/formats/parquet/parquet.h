#pragma once
// Parquet files of encoded images and labels, as pyarrow and Hugging Face's `datasets` write them, read by Arrow C++.
//
//   PAR1 │ row group 0: a chunk per column, each a run of pages │ row group 1 │ ... │ footer │ footer's length │ PAR1
//          ───────────── decoded as a whole ─────────────▶ RowGroup ─▶ cache ─▶ read(id)
//
// Columns:   only two are ever read. Image: the option `image`, else the first there is of image, img, jpg, jpeg, png,
//            webp, picture, else the first that the `huggingface` metadata calls an Image; a column of bytes, or a
//            struct with a field `bytes` (a row that has only `path` is an error: files elsewhere are not followed).
//            Label: the option `label`, else label, labels, fine_label, cls, class, target, else the first ClassLabel
//            of that metadata; whole numbers, or text that is the class name. -1 and null: no label. `none`: no labels.
// Classes:   named by the metadata's ClassLabel; names in text are numbered in their sorted order over all shards.
//            Opening reads the label column of every row group for text, and for numbers without names or statistics.
// Shards:    choose_shards(): a file, a glob, a brace range, a folder of *.parquet, near or far.
// Checked:   magic at both ends, the footer's length, every chunk within its file, row counts, the checksum of each
//            page that has one. A damaged page costs its row group: each of its rows is an Error(kInput) that names
//            file and row group, other groups read on.
//
// Cost:      a row group is the least that can be decoded, so what a read costs depends on whether its group is there:
//            - Uncompressed and not dictionary-encoded images in a local file are handed out from the map without being
//              copied. A group then costs 24 bytes per row to keep, and any order of reading is cheap. `pack` writes
//              such files: compression gains nothing on JPEG.
//            - Else a decoded group is as large as its images, and the cache (`cache_mb`, 1024 by default, least
//              recently used goes first) holds as many as fit. Reading in order decodes each group once, some of them
//              ahead of the readers by a pool of threads. Reading in full shuffle does so only while ALL groups fit
//              into the cache; beyond that nearly every record decodes a group of its own, as many times the work as
//              a group has rows (measured with 100 rows: 80 times slower). Then either raise cache_mb, shuffle within
//              windows that the cache holds, or pack once.
//            Memory: the cache's limit, and one group for each thread that reads or reads ahead.
//
// Threads:   as Dataset. Failure: as open_dataset(); Error(kMissing) in a build without Arrow.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {

struct ParquetOptions {
  std::string image;  // column names; empty: looked for as told above
  std::string label;
  std::uint64_t cache_bytes = std::uint64_t{1} << 30;
  int threads = 0;  // that decode ahead; 0: as many as processors, at most 8; for URLs 16
};

[[nodiscard]] std::shared_ptr<const Dataset> open_parquet_shards(std::vector<Shard> shards,
                                                                 const ParquetOptions& options = {});

// "26.0.1", empty in a build without Arrow.
[[nodiscard]] std::string arrow_version();

// The row of the format table. Options: image, label, cache_mb. Recognised by the magic at the beginning alone, so that
// a file whose end is missing is told as such.
[[nodiscard]] bool recognises_parquet(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_parquet(const Source& source, const std::string& split);

}  // namespace unstarve
