#pragma once
// Writes RecordIO shards of images, as im2rec of MXNet does; recordio_parts.h shows the layout.
//
// A record has one label (0 if there is none: the format requires one), and its position in the split as id. The index
// of a shard, "<id>\t<offset>\n" per record, is the one that MXIndexedRecordIO and ImageRecordIter of mxnet read.
//
// Threads and failure: as RecordWriter; Error(kInput) for a part of 2^29 bytes and more.

#include "unstarve/storage/dataset/record_writer.h"

namespace unstarve {

[[nodiscard]] std::unique_ptr<RecordWriter> make_recordio_writer(ByteSink& sink,
                                                                 const std::vector<std::string>& classes);

}  // namespace unstarve
