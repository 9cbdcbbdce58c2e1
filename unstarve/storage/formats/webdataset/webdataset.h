#pragma once
// WebDataset: tar shards whose members are samples, grouped by the name before the first dot.
//
//   train/000.jpg  train/000.cls  |  train/001.jpg  train/001.cls  | ...        key "train/000", extensions jpg, cls
//
// The rules are those of the webdataset package (1.0.2, tariterators.py): the key is the path up to the first dot of
// the base name; members of one sample follow each other; extensions count without case; members without an extension,
// hidden ones and "__meta__" are passed over.
//
// Image:     the member .jpg, else .jpeg, .png, .webp, else the first whose extension ends in one of those (left.jpg);
//            "#image=seg.png" names another.
// Label:     the member .cls or .class (a number, or a name), else .json (its key label, cls or class), else .txt (a
//            number, or one line of at most kMaxClassNameBytes as a name; a longer text is a caption and no label).
//            "#label=json/category" names another member and key, "#label=none" takes none, for sets of captions.
//            One that no sample has is refused.
// Checked:   when a shard is indexed every header's checksum and numbers, that members lie within the archive and their
//            names lead nowhere out, that a sample has one image and each member once, and its label; each time a
//            record is read the header before the image.
// Damage:    as tar_scanner.h. Members whose names are refused are one damaged record for each key. A sample that lost
//            a member to damage is part of that damaged record; one without an image, with a member twice, or with a
//            broken .json or .cls is a damaged record of its own. Reading a record checks its header again: tar has no
//            checksum for the bytes themselves.
// Compressed shards: .tar.gz and .tar.zst by seek points (inflate.h).
// Threads:   as RecordFormat. Failure: as RecordFormat.

#include <memory>
#include <string>

#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/index/record_format.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {

inline constexpr std::size_t kMaxClassNameBytes = 100;

struct WebdatasetOptions {
  std::string image;      // extension in lower case; "" by the rule above
  std::string label;      // the same; "none" for no label
  std::string label_key;  // of a .json member; "" for label, cls or class
};

[[nodiscard]] std::shared_ptr<const RecordFormat> webdataset_format(WebdatasetOptions options = {});

// The row of the format table: *.tar, *.tar.gz, *.tgz, *.tar.zst, *.tzst, told by "ustar" at byte 257 or by the
// checksum of the first header.
[[nodiscard]] bool recognises_webdataset(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_webdataset(const Source& source, const std::string& split);

}  // namespace unstarve
