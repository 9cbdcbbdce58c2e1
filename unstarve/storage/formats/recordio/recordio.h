#pragma once
// Reads RecordIO (.rec), the format of MXNet, as a dataset of images; recordio_parts.h shows the layout.
//
// Shards:    *.rec. The .idx file of a shard is not needed: the index of this library also has the record offsets. A
//            glob that matches both skips the .idx. Records are in file order.
// Label:     that of the image header; the first label if there are several (face datasets, `im2rec --pack-label`).
// Checked:   when a shard is indexed: magic, flag, length and order of the parts, the image header, and that the label
//            is a class number. read() checks part heads and image header again. The format has no checksum: damage
//            inside of an image is found by the decoder.
// Damage:    makes one record unreadable: the magic occurs at multiples of 4 only at the beginning of a part, so the
//            scan continues there.
// Cost:      a record in one part is a zero-copy view. A record in several parts (one image in about 150,000 contains
//            the magic by chance) is joined in the buffer of the caller.
// Threads:   as RecordFormat. Failure: as RecordFormat.

#include <memory>
#include <string>

#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/index/record_format.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {

[[nodiscard]] std::shared_ptr<const RecordFormat> recordio_format();

// Format table entry; recognised by the magic and flag of the first record.
[[nodiscard]] bool recognises_recordio(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_recordio(const Source& source, const std::string& split);

}  // namespace unstarve
