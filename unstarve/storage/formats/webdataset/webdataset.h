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
//            "#image=seg.png" selects another. Several such images in one sample are a notice, one per dataset,
//            and damage if their extensions begin with a number and other text: names with dots (img_0.5_1.jpg,
//            img_0.5_2.jpg) have one key, and their images would be lost. Numbers alone (0.1.jpg) may be frames.
// Label:     the member .cls or .class (a number or a name), else .json (its key label, cls or class; a Boolean is 0 or
//            1), else .txt (a number, or one line of at most kMaxClassNameBytes as a name). "#label=json/category"
//            selects another member and key, "#label=none" reads no labels. A requested label that no sample has is an
//            error. A .json that is not JSON is damage, unless .cls or .class is the label; NaN and Infinity are
//            accepted. Floats and lists are not classes (class_text.h): such a sample has no label. Strings of
//            .json are names if one in all shards is no number; "#classes=names" reads all labels as names.
// Damage:    as tar_scanner.h. A sample that lost a member to damage is part of that damaged record; one without an
//            image, with a duplicate member or an invalid label is a separate damaged record. tar has no checksum for
//            member bodies; read() checks the header of the image again.
// Threads and failure: as RecordFormat.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/index/record_format.h"

namespace unstarve {

class ByteSink;
class RecordWriter;
struct Source;

inline constexpr std::size_t kMaxClassNameBytes = 100;

struct WebdatasetOptions {
  std::string image;      // extension in lower case; "": by the rule above
  std::string label;      // the same; "none": no labels
  std::string label_key;  // of a .json member; "": label, cls or class
  bool names = false;     // all labels are names, numbers too
};

[[nodiscard]] std::shared_ptr<const RecordFormat> webdataset_format(WebdatasetOptions options = {});

// Writes shards: per sample the image and, if it has a label, a .cls with the class number. ustar, with a pax header
// for a name that does not fit; owner 0, mode 0644, time 0. Keeps the names of one shard in memory.
[[nodiscard]] std::unique_ptr<RecordWriter> make_webdataset_writer(ByteSink& sink,
                                                                   const std::vector<std::string>& classes);
// The member name, without extension, of the sample with this key. Dots in the base name (which would end the key),
// control characters and names that readers skip are replaced. The writer adds "_2", "_3", ... to a repeated name.
[[nodiscard]] std::string webdataset_name(std::string_view key);

// Format table entry: *.tar, *.tar.gz, *.tgz, *.tar.zst, *.tzst, recognised by the checksum of the first header.
[[nodiscard]] bool recognises_webdataset(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_webdataset(const Source& source, const std::string& split);

}  // namespace unstarve
