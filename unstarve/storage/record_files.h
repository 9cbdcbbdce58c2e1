#pragma once
// Shards of records as one random-access data set, over an index that one pass over each shard makes.
//
// Ids:       the shards in the order given, in each the records in the order of the file. A damaged record has an id,
//            too: reading it throws, and its neighbours keep theirs.
// Index:     one sidecar per shard (index_sidecar.h): "<shard>.unstarve-index" beside it; where that folder cannot be
//            written, and for URLs, in $XDG_CACHE_HOME/unstarve/index (~/.cache/unstarve/index). One made by other
//            options, another version, or of a file that has changed in size or time since is made again, by a few
//            shards at a time. Where neither place can be written the index lives in memory only, see notes().
// Compressed shards (gzip, zlib): read through the seek points kept in the index (inflate.h).
// Classes:   numbers 0 .. largest label, named where the records name them; records that only name their class are
//            numbered by the sorted names of all shards.
// Ownership: holds every shard open (mapped where local) and its index mapped.
// Threads:   as Dataset.
// Failure:   opening: Error(kInput) when no record is there or every one is damaged; Error(kIo). read(): as Dataset,
//            with shard, record and offset in front.
// Cost:      with indexes there, opening costs per shard and not per record; read() of a mapped shard copies nothing.

#include <memory>
#include <string>
#include <vector>

#include "unstarve/storage/dataset.h"
#include "unstarve/storage/record_format.h"

namespace unstarve {

// What stands for a shard: its name alone is needed to open it again, a source that is already open is used as it is.
struct Shard {
  std::string name;
  std::shared_ptr<const ByteSource> bytes;  // null: open_bytes(name)
};

struct RecordFilesOptions {
  // Reads and writes index sidecars; without it indexes are made in memory every time (for tests and fuzzing).
  bool keep_index = true;
  int threads = 0;  // for indexing; 0: as many as processors, at most 4
};

[[nodiscard]] std::shared_ptr<const Dataset> open_record_files(std::vector<Shard> shards,
                                                               std::shared_ptr<const RecordFormat> format,
                                                               const RecordFilesOptions& options = {});

}  // namespace unstarve
