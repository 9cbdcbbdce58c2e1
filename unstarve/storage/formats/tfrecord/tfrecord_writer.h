#pragma once
// TFRecord shards of tf.train.Example, uncompressed; tfrecord.h draws the layout.
//
// Features, in this order:  image/class/label int64 and image/class/text (where there are labels, names) |
//   image/encoded | image/filename (the key) | image/format "jpeg", "png", "webp" | image/height, image/width int64
// They are named as in the published ImageNet shards; class numbers begin at 0 as everywhere here (there: at 1).
//
// Threads and failure: as RecordWriter. Cost: both checksums by instruction; the image is not copied.

#include "unstarve/storage/dataset/record_writer.h"

namespace unstarve {

[[nodiscard]] std::unique_ptr<RecordWriter> make_tfrecord_writer(ByteSink& sink,
                                                                 const std::vector<std::string>& classes);

}  // namespace unstarve
