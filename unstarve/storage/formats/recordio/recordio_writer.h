#pragma once
// MXNet's RecordIO of images, as im2rec writes it; recordio_parts.h draws the layout.
//
// A record holds one label (0 where there is none: the format cannot leave it out) and as id its place in the split.
// The index beside a shard, "<id>\t<offset>\n" per record, is what mxnet's MXIndexedRecordIO and ImageRecordIter take.
//
// Threads and failure: as RecordWriter; Error(kInput) for a part of 2^29 bytes and more.

#include "unstarve/storage/dataset/record_writer.h"

namespace unstarve {

[[nodiscard]] std::unique_ptr<RecordWriter> make_recordio_writer(ByteSink& sink,
                                                                 const std::vector<std::string>& classes);

}  // namespace unstarve
