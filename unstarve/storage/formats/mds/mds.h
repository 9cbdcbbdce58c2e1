#pragma once
// MosaicML streaming's MDS as a data set of images; mds_index.h draws the layout.
//
// Path:      the folder that holds index.json, local or of a bucket, or index.json itself (the only way for http(s));
//            of several index.json files, by a glob or braces, the shards of all, in that order. All have the same
//            columns.
// Image:     the column of encoding jpeg, png or pil (raw RGB or L pixels, read where they lie), else the column of
//            bytes named image, img, jpg, jpeg, png or webp; "#image=NAME" names another.
// Label:     the column named label, class, cls, target or y, else the only one of whole numbers; of whole numbers or
//            str; "#label=NAME" names another, "#label=none" takes none.
// Shards:    plain, or compressed by gz or zstd at the costs that inflate.h tells (one by zstd is one frame); where the
//            plain file of a compressed shard is there it is read. Others (br, bz2, snappy) are refused without it.
// Damage:    costs the sample it is in. A table of offsets that makes no sense costs the samples it is wrong about, one
//            that does not fit its file the shard. Hashes are not looked at.
// Threads:   as RecordFormat. Failure: as RecordFormat; a column that is not there is Error(kArgument).

#include <memory>
#include <string>

#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/formats/mds/mds_index.h"
#include "unstarve/storage/index/record_format.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {

struct MdsFields {
  std::size_t image = 0;
  int label = -1;  // -1: none
};

// "image (jpeg), label (int)"
[[nodiscard]] std::string describe_columns(const std::vector<MdsColumn>& columns);

// The columns that the options (or the rules above) choose; `image` and `label` are "" when they were not given.
// Throws Error(kArgument) for a name that no column has, Error(kInput) when no column can be the image.
[[nodiscard]] MdsFields choose_mds_fields(const std::vector<MdsColumn>& columns, const std::string& image,
                                          const std::string& label);

[[nodiscard]] std::shared_ptr<const RecordFormat> mds_format(std::vector<MdsColumn> columns, const MdsFields& fields);

// The row of the format table: an index.json that lists shards of format mds. A list that holds one is refused where it
// names any other file; a shard (*.mds, *.mds.gz, ...) is recognised to be refused with a hint at its folder.
[[nodiscard]] bool recognises_mds(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_mds(const Source& source, const std::string& split);

}  // namespace unstarve
