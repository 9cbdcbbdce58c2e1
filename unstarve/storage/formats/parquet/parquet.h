#pragma once
// Reads Parquet files of encoded images and labels, as pyarrow and Hugging Face `datasets` write them, with Arrow C++.
//
//   PAR1 │ row group 0: a chunk per column, each a run of pages │ row group 1 │ ... │ footer │ footer length │ PAR1
//          ───────────── decoded as a whole ─────────────▶ RowGroup ─▶ cache ─▶ read(id)
//
// Columns:   only two are read. Image: the option `image`, else the first of image, img, jpg, jpeg, png, webp, picture,
//            else the first Image of the `huggingface` metadata; binary, or a struct with a field `bytes`; a column
//            annotated as text only if there is no other. Label: the option `label`, else label, labels, fine_label,
//            cls, class, target, else the first ClassLabel of the metadata; integers, or strings that are class names;
//            dictionary-encoded ones of Arrow IPC too. These names are compared without case. -1 and null: no label.
//            `none`: read no labels. Floats, lists, strings that are floats or lists, and columns of -1 and null only
//            are not classes: the records then have no labels.
// Classes:   named by the ClassLabel; string labels are numbered in sorted order over all shards. Opening reads the
//            label column of every row group if it holds strings or has neither names nor statistics; with names only,
//            up to the first class number.
// Checked:   magic at both ends, footer length, every chunk within its file, row counts, page checksums where present.
//            A damaged page makes its row group unreadable: an Error(kInput) with file and row group.
// Cost:      a row group is decoded as a whole. Images of a local file that are neither compressed nor
//            dictionary-encoded, as `pack` writes them, are views of the map: any order is cheap. Otherwise the cache
//            (`cache_mb`, 1024 by default) holds the decoded groups that fit. In-order reading decodes each group once,
//            partly in advance. A full shuffle of more groups than fit decodes a group for nearly every record
//            (measured: 80 times slower); then raise cache_mb, shuffle within windows, or pack once.
// Threads:   as Dataset. Failure: as open_dataset(); Error(kMissing) without Arrow, naming the
//            package to install.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

struct Source;

struct ParquetOptions {
  std::string image;  // column names; empty: selected as described above
  std::string label;
  std::uint64_t cache_bytes = std::uint64_t{1} << 30;
  bool ipc = false;  // Arrow IPC files instead of Parquet
  int threads = 0;   // threads that decode in advance; 0: one per CPU, at most 8; 16 for URLs
};

// Arrow of the installed pyarrow; loads it. Throws only std::bad_alloc.
struct ArrowFacts {
  bool in_build = false;  // whether this build can use it
  std::string version;    // "26.0.1"; empty without it
  std::string problem;    // why it cannot be loaded, and how to fix it
};
[[nodiscard]] ArrowFacts arrow_facts();

// Format table entry. Options: image, label, cache_mb. Recognised by the magic at the beginning only, so that a
// truncated file is reported as such.
[[nodiscard]] bool recognises_parquet(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_parquet(const Source& source, const std::string& split);

}  // namespace unstarve
