#pragma once
// MXNet's RecordIO (.rec) as a data set of images; recordio_parts.h draws the layout.
//
// Shards:    *.rec. The .idx beside a file is not needed and not looked at: what it holds (where records begin) is in
//            our own index, too. Records are in the order of the file. A glob that matches both leaves the .idx out.
// Label:     the image header's, the first of them where there are several (as face sets and `im2rec --pack-label`
//            write them).
// Checked:   magic, flag and length of every part, that the parts of a record follow each other, the image header and
//            that the label is a class number, when a shard is indexed; heads and header again each time a record is
//            read. The format has no checksum: damage within an image is for the decoder to find.
// Damage:    costs the record it touches: the magic stands at multiples of 4 only where a part begins, so the scan goes
//            on there. Reading a record checks its heads again.
// Cost:      a record in one part is handed out where it lies; one in several parts (an image holds the magic by
//            chance, about one in 150,000) is joined in the caller's buffer.
// Threads:   as RecordFormat. Failure: as RecordFormat.

#include <memory>
#include <string>

#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/index/record_format.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {

[[nodiscard]] std::shared_ptr<const RecordFormat> recordio_format();

// The row of the format table: told by the magic and flag of the first record.
[[nodiscard]] bool recognises_recordio(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_recordio(const Source& source, const std::string& split);

}  // namespace unstarve
