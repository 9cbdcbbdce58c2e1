#pragma once
// Encoded records kept in memory: for sources that are slow to read again (remote, compressed, a busy disk).
//
// A decorator: everything but read() is the inner data set's. Records are kept first come, first kept, until the budget
// is full, and none is given up for another: an epoch reads every record once in a new order, so that any other rule
// would keep no more of them and pay for the exchange.
// Data sets whose files are mapped need no such cache: the page cache is one, shared by all processes of the host. This
// one is its process's own; several on a host share what lies in files: the disk cache of remote data
// (remote/disk_cache.h), and decoded pixels in a file (pixel_store.h).
//
// Ownership: keeps the inner data set. Values of a kept record lie in the cache's memory and stay valid as long as it.
// Threads:   as Dataset. Failure: as the inner data set; when memory runs out, the cache stays as full as it is.
// Cost:      8 bytes per record; a hit copies nothing.

#include <cstdint>
#include <memory>

#include "unstarve/core/byte_budget.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

struct CacheCounts {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t records = 0;  // held
  std::uint64_t bytes = 0;    // held, of the budget
  std::uint64_t limit = 0;    // the budget
};

class EncodedCache : public Dataset {
 public:
  [[nodiscard]] virtual CacheCounts counts() const = 0;
};

// `limit_bytes`: values and their bookkeeping. Throws Error(kArgument) for a data set of raw pixels, which lies in
// memory already.
[[nodiscard]] std::shared_ptr<const EncodedCache> cache_encoded(std::shared_ptr<const Dataset> inner,
                                                                std::uint64_t limit_bytes);
// Likewise, of a budget that others take of, too: what it has none for now may be kept later.
[[nodiscard]] std::shared_ptr<const EncodedCache> cache_encoded(std::shared_ptr<const Dataset> inner,
                                                                std::shared_ptr<ByteBudget> room);

}  // namespace unstarve
