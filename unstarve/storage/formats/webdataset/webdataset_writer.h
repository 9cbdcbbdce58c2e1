#pragma once
// Writes WebDataset tar shards; tar_header.h shows the layout, webdataset.h how members are grouped into samples.
//
//   cat/1.jpg  cat/1.cls  |  dog/7.png  dog/7.cls  | ...  two zero blocks    .cls: the class number, if there is one
//
// Names:     the key without its extension. Dots in the base name (which would end the key), control characters and
//            names that readers skip are replaced; a repeated name in a shard gets "_2", "_3", ...
// Dialect:   ustar; a name that does not fit gets a pax header. Owner 0, mode 0644, time 0.
// Memory:    the names of one shard.
//
// Threads and failure: as RecordWriter.

#include "unstarve/storage/dataset/record_writer.h"

namespace unstarve {

[[nodiscard]] std::unique_ptr<RecordWriter> make_webdataset_writer(ByteSink& sink,
                                                                   const std::vector<std::string>& classes);

// The member name, without extension, of the sample with this key. Pure function.
[[nodiscard]] std::string webdataset_name(std::string_view key);

}  // namespace unstarve
