#pragma once
// Reads WebDataset shards: tar archives whose members are grouped into samples by the name before the first dot.
//
//   train/000.jpg  train/000.cls  |  train/001.jpg  train/001.cls  | ...        key "train/000", extensions jpg, cls
//
// The rules are those of the webdataset package (1.0.2, tariterators.py): the key is the path up to the first dot of
// the base name; members of one sample are adjacent; extensions ignore case; members without an extension, hidden
// members and "__meta__" are skipped.
//
// Image:     the member .jpg, else .jpeg, .png, .webp, else the first whose extension ends in one of those (left.jpg).
//            "#image=seg.png" selects another.
// Label:     the member .cls or .class (a number or a name), else .json (its key label, cls or class), else .txt (a
//            number, or one line of at most kMaxClassNameBytes as a name; longer text is a caption, not a label).
//            "#label=json/category" selects another member and key, "#label=none" reads no labels. A label that no
//            sample has is refused.
// Checked:   when a shard is indexed: checksum and numbers of every header, member sizes and names, one image, no
//            duplicate members, and the label. read() checks the header of the image again.
// Damage:    as tar_scanner.h. Members refused for their names are one damaged record per key. A sample that lost a
//            member to damage is part of that damaged record. A sample without an image, with a duplicate member or
//            with an invalid .json or .cls is a damaged record of its own. tar has no checksum for member bodies.
// Compressed shards: .tar.gz and .tar.zst, read with seek points (inflate.h).
// Threads:   as RecordFormat. Failure: as RecordFormat.

#include <memory>
#include <string>

#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/index/record_format.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {

inline constexpr std::size_t kMaxClassNameBytes = 100;

struct WebdatasetOptions {
  std::string image;      // extension in lower case; "": by the rule above
  std::string label;      // the same; "none": no labels
  std::string label_key;  // of a .json member; "": label, cls or class
};

[[nodiscard]] std::shared_ptr<const RecordFormat> webdataset_format(WebdatasetOptions options = {});

// Format table entry: *.tar, *.tar.gz, *.tgz, *.tar.zst, *.tzst, recognised by the checksum of the first header.
[[nodiscard]] bool recognises_webdataset(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_webdataset(const Source& source, const std::string& split);

}  // namespace unstarve
