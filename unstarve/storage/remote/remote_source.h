#pragma once
// The bytes of one remote object: from the disk cache, else from the server by ranges. Objects of servers that ignore
// ranges are held in memory (held_memory.h).
//
// Threads: any number may read one source. Ownership: shares engine and cache with the store.
// Failure: reads throw Error(kIo) with the name of the object and the reason, also if the object was changed.

#include <cstdint>
#include <memory>
#include <string>

#include "unstarve/core/process/per_process.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/remote/bucket_client.h"
#include "unstarve/storage/remote/cache/disk_cache.h"
#include "unstarve/storage/remote/engine.h"
#include "unstarve/storage/remote/http/url.h"
#include "unstarve/storage/remote/remote.h"

namespace unstarve::remote {

struct ObjectAddress {
  std::shared_ptr<BucketClient> client;  // null for http(s)
  RemoteUrl url;
  std::string region{};
  bool ranges = true;  // false: the server ignores them

  // Length 0: the whole object. `etag`: the version that is required; empty for any.
  [[nodiscard]] HttpRequest request(std::uint64_t first, std::uint64_t length, const std::string& etag = "") const;
  // Without credentials.
  [[nodiscard]] std::string address() const;
};

// For Fetch::renew; null for http(s), without a client.
[[nodiscard]] decltype(Fetch::renew) renew_by(const std::shared_ptr<BucketClient>& client);

// A fork has none of its parent's threads, must not write to its connections, and shares locks of its open files.
using EngineOfProcess = PerProcess<Engine>;
using CacheOfProcess = PerProcess<std::shared_ptr<DiskCache>>;

// `pin`: size and version, which all reads require.
[[nodiscard]] std::shared_ptr<const ByteSource> remote_source(ObjectAddress object, ObjectPin pin,
                                                              const RemoteOptions& options,
                                                              std::shared_ptr<const EngineOfProcess> engine,
                                                              const std::shared_ptr<const CacheOfProcess>& cache);

}  // namespace unstarve::remote
