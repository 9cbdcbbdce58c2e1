#pragma once
// Reads TFRecord files of tf.train.Example.
//
//   | length u64 | masked CRC-32C of the length u32 | data | masked CRC-32C of the data u32 |  repeated
//
// The whole file may be compressed by gzip or zlib (tf.io.TFRecordOptions) or Zstandard.
//
// Fields:    by name in the Example. Image: the option `image`, else the first of image/encoded, image, image_raw; its
//            first value is used. Label: the option `label` ("none": no labels), else image/class/label or label; an
//            integer is the class number, bytes are the class name. Floats and several values are not classes: such a
//            record has no label. Names of numbered classes: the option `name`, else image/class/text.
// Checked:   both checksums of a record, when it is indexed and each time it is read.
// Damage:    damaged data makes one record unreadable. After a damaged length the scan continues at the next 12 bytes
//            that are a length below kMaxRecordBytes and its checksum; the bytes skipped are one damaged record. Damage
//            of a compressed stream makes the rest of the file unreadable.
// Copies:    none if the file is mapped and not compressed: the image is a view of the map.
//
// Threads and failure: as RecordFormat.

#include <memory>
#include <string>
#include <vector>

#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/index/record_format.h"

namespace unstarve {

class ByteSink;
class RecordWriter;
struct Source;

// Names of features; "" selects the default names.
struct TfRecordFields {
  std::string image;
  std::string label;
  std::string name;
};

[[nodiscard]] std::shared_ptr<const RecordFormat> make_tfrecord_format(const TfRecordFields& fields = {});

// Whether the name is that of a TFRecord file: *.tfrecord, *.tfrecords, *.tfrec, *-00000-of-00010, each optionally
// followed by .gz, .zlib, .z or .zst.
[[nodiscard]] bool is_tfrecord_name(std::string_view name) noexcept;

// Writes uncompressed shards with the features of the published ImageNet shards, in this order: image/class/label and
// image/class/text (if there are labels, names), image/encoded, image/filename (the key), image/format ("jpeg", "png",
// "webp"), image/height, image/width. Class numbers begin at 0, in ImageNet shards at 1. The image is not copied.
[[nodiscard]] std::unique_ptr<RecordWriter> make_tfrecord_writer(ByteSink& sink,
                                                                 const std::vector<std::string>& classes);

// Format table entry. Options: image, label, name.
[[nodiscard]] bool recognises_tfrecord(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_tfrecord(const Source& source, const std::string& split);

}  // namespace unstarve
