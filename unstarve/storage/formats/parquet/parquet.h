#pragma once
// Reads Parquet files of encoded images and labels, as pyarrow and Hugging Face `datasets` write them, with Arrow C++.
//
//   PAR1 │ row group 0: a chunk per column, each a run of pages │ row group 1 │ ... │ footer │ footer length │ PAR1
//          ───────────── decoded as a whole ─────────────▶ RowGroup ─▶ cache ─▶ read(id)
//
// Columns:   only two columns are read. Image: the option `image`, else the first of image, img, jpg, jpeg, png, webp,
//            picture, else the first Image of the `huggingface` metadata; a binary column, or a struct with a field
//            `bytes` (a row with only `path` is an error: external files are not read). Label: the option `label`, else
//            label, labels, fine_label, cls, class, target, else the first ClassLabel of the metadata; integers, or
//            strings that are class names. -1 and null: no label. `none`: read no labels.
// Classes:   named by the ClassLabel of the metadata; string labels are numbered in sorted order over all shards.
//            Opening reads the label column of every row group if it holds strings or has neither names nor statistics.
// Shards:    choose_shards(): a file, a glob, a brace range, a folder of *.parquet, local or remote.
// Checked:   magic at both ends, footer length, every chunk within its file, row counts, page checksums where present.
//            A damaged page makes its row group unreadable: each of its rows is an Error(kInput) that names file and
//            row group; other groups are not affected.
//
// Cost:      a row group is decoded as a whole, so the cost of a read depends on whether its group is cached:
//            - Images that are neither compressed nor dictionary-encoded in a local file are zero-copy views of the
//              map. A cached group costs 24 bytes per row, and any order is cheap. `pack` writes such files:
//              compression does not make JPEG smaller.
//            - Otherwise a decoded group is as large as its images, and the cache (`cache_mb`, 1024 by default, least
//              recently used evicted first) holds as many as fit. In-order reading decodes each group once, partly in
//              advance by a thread pool. Full shuffling does so only if ALL groups fit into the cache; otherwise nearly
//              every record decodes a whole group (100 rows per group: measured 80 times slower). In that case raise
//              cache_mb, shuffle within windows that fit the cache, or pack once.
//            Memory: the limit of the cache, and one group per thread that decodes.
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
  std::string image;  // column names; empty: selected as described above
  std::string label;
  std::uint64_t cache_bytes = std::uint64_t{1} << 30;
  int threads = 0;  // threads that decode in advance; 0: one per CPU, at most 8; 16 for URLs
};

[[nodiscard]] std::shared_ptr<const Dataset> open_parquet_shards(std::vector<Shard> shards,
                                                                 const ParquetOptions& options = {});

// "26.0.1", empty in a build without Arrow.
[[nodiscard]] std::string arrow_version();

// Format table entry. Options: image, label, cache_mb. Recognised by the magic at the beginning only, so that a
// truncated file is reported as such.
[[nodiscard]] bool recognises_parquet(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_parquet(const Source& source, const std::string& split);

}  // namespace unstarve
