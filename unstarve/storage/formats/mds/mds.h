#pragma once
// Reads MDS, the format of MosaicML streaming, as a dataset of images; mds_index.h shows the layout.
//
// Path:      the folder with index.json, local or in a bucket, or index.json itself (required for http(s)). Several
//            index.json files (a glob or braces) give the shards of all, in that order; their columns must be equal.
// Image:     the column with encoding jpeg, png or pil (raw RGB or L pixels, read without a copy), else the bytes
//            column named image, img, jpg, jpeg, png or webp; "#image=NAME" selects another.
// Label:     the first column named label, class, cls, target or y; integers or str. Values of str are names if one of
//            all shards is no number; a number that is no class number is damage. "#label=NAME" selects another,
//            "#label=none" reads no labels, "#classes=names" reads all labels as names.
// Shards:    plain, or compressed by gz or zstd (inflate.h); the plain file of a compressed shard is preferred. Other
//            compressions (br, bz2, snappy) require the plain file.
// Damage:    makes one sample unreadable; a table longer than the file the whole shard. Hashes are not checked.
// Threads and failure: as RecordFormat; a missing column is Error(kArgument).

#include <memory>
#include <string>

#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/formats/mds/mds_index.h"
#include "unstarve/storage/index/record_format.h"

namespace unstarve {

struct Source;

struct MdsFields {
  std::size_t image = 0;
  int label = -1;         // -1: none
  bool declined = false;  // no label was requested
  bool names = false;     // all labels are names, numbers too
};

// "image (jpeg), label (int)"
[[nodiscard]] std::string describe_columns(const std::vector<MdsColumn>& columns);

// Selects the columns; "" for `image` or `label` applies the rules above. Throws Error(kArgument) for an unknown column
// name, Error(kInput) if there is no image column.
[[nodiscard]] MdsFields choose_mds_fields(const std::vector<MdsColumn>& columns, const std::string& image,
                                          const std::string& label);

[[nodiscard]] std::shared_ptr<const RecordFormat> mds_format(std::vector<MdsColumn> columns, const MdsFields& fields);

// Format table entry: an index.json that lists shards of format mds. A list of files may contain only such files. A
// shard (*.mds, *.mds.gz, ...) is recognised only to reject it with a hint to pass its folder.
[[nodiscard]] bool recognises_mds(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_mds(const Source& source, const std::string& split);

}  // namespace unstarve
