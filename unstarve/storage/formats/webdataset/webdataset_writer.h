#pragma once
// WebDataset tar shards; tar_header.h draws the layout, webdataset.h tells how members make samples.
//
//   cat/1.jpg  cat/1.cls  |  dog/7.png  dog/7.cls  | ...  two zero blocks    .cls: the class number, where there is one
//
// Names:     the key without its extension; dots in the base name (which would end the key there), control characters
//            and names that readers pass over are changed; a name that comes again in a shard gets "_2", "_3", ...
// Dialect:   ustar; a name that does not fit gets a pax header. Owner 0, mode 0644, time 0.
// Memory:    the names of one shard.
//
// Threads and failure: as RecordWriter.

#include "unstarve/storage/dataset/record_writer.h"

namespace unstarve {

[[nodiscard]] std::unique_ptr<RecordWriter> make_webdataset_writer(ByteSink& sink,
                                                                   const std::vector<std::string>& classes);

// The name of a sample whose key is `key`: without extension, fit for a tar member. Pure.
[[nodiscard]] std::string webdataset_name(std::string_view key);

}  // namespace unstarve
