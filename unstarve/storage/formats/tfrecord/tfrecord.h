#pragma once
// TFRecord files of tf.train.Example.
//
//   | length u64 | masked CRC-32C of the length u32 | data | masked CRC-32C of the data u32 |  record after record
//
// The whole file may be a gzip or a zlib stream of that (tf.io.TFRecordOptions), or a Zstandard one.
//
// Fields:    by name in the Example. Image: the option `image`, else the first there is of image/encoded, image,
//            image_raw; its first value is taken. Label: the option `label`, else image/class/label or label; a number
//            is the class number, bytes are the class name. Names of numbered classes: the option `name`, else
//            image/class/text.
// Checked:   both checksums of a record when it is indexed and each time it is read.
// Damage:    a record whose data is damaged costs that record. Where a length is damaged the scan goes on at the next
//            place where 12 bytes are a length below kMaxRecordBytes and its checksum: what lies between is one damaged
//            record. In a compressed file damage of the stream costs the rest of the file.
// Copies:    none where the file is mapped and not compressed: the image lies in the map.
//
// Threads and failure: as RecordFormat.

#include <memory>
#include <string>

#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/index/record_format.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {

// Names of features; "" for the ones that are looked for by default.
struct TfRecordFields {
  std::string image;
  std::string label;
  std::string name;
};

[[nodiscard]] std::shared_ptr<const RecordFormat> make_tfrecord_format(const TfRecordFields& fields = {});

// Whether a file is called like one: *.tfrecord, *.tfrecords, *.tfrec, *-00000-of-00010, with .gz, .zlib, .z or .zst
// behind.
[[nodiscard]] bool is_tfrecord_name(std::string_view name) noexcept;

// The row of the format table. Options: image, label, name.
[[nodiscard]] bool recognises_tfrecord(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_tfrecord(const Source& source, const std::string& split);

}  // namespace unstarve
