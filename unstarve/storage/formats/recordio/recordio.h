#pragma once
// Reads and writes RecordIO (.rec), the format of MXNet, as a dataset of images; recordio_parts.h shows the layout.
//
// Shards:    *.rec, in file order. The .idx file of a shard is not needed; a glob that matches both skips it.
// Label:     that of the image header; the first label if there are several (face datasets, `im2rec --pack-label`).
// Damage:    makes one record unreadable: the magic occurs at multiples of 4 only at the beginning of a part, so the
//            scan continues there. The format has no checksum: damage inside of an image is found by the decoder.
// Cost:      a record in one part is a zero-copy view; one in several parts is joined in the buffer of the caller.
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

[[nodiscard]] std::shared_ptr<const RecordFormat> recordio_format(bool labelled = true);

// Writes shards as im2rec of MXNet does: one label per record (0 if there is none: the format requires one), and the
// position in the split as id. The index file has "<id>\t<offset>\n" per record, for MXIndexedRecordIO and
// ImageRecordIter. Error(kInput) for a part of 2^29 bytes and more.
[[nodiscard]] std::unique_ptr<RecordWriter> make_recordio_writer(ByteSink& sink,
                                                                 const std::vector<std::string>& classes);

// Format table entry; recognised by the magic and flag of the first record.
[[nodiscard]] bool recognises_recordio(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_recordio(const Source& source, const std::string& split);

}  // namespace unstarve
