#pragma once
// Writes uncompressed TFRecord shards of tf.train.Example; tfrecord.h shows the layout.
//
// Features, in this order:  image/class/label int64 and image/class/text (if there are labels, names) |
//   image/encoded | image/filename (the key) | image/format "jpeg", "png", "webp" | image/height, image/width int64
// The names are those of the published ImageNet shards. Class numbers begin at 0, in ImageNet shards at 1.
//
// Threads and failure: as RecordWriter. Cost: two hardware CRC-32C checksums; the image is not copied.

#include "unstarve/storage/dataset/record_writer.h"

namespace unstarve {

[[nodiscard]] std::unique_ptr<RecordWriter> make_tfrecord_writer(ByteSink& sink,
                                                                 const std::vector<std::string>& classes);

}  // namespace unstarve
