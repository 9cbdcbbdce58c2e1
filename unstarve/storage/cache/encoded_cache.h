#pragma once
// Encoded records in memory: for sources that are slow to read again (remote, compressed, a busy disk).
//
// Wraps a dataset and describes itself as that dataset does. The first records that are read are stored until the
// budget is full; none is evicted: an epoch reads every record once in a new order, so no eviction policy hits more.
// Mapped datasets need no such cache: the page cache does the same, shared by all processes.
//
// Ownership: shares the inner dataset. Values of a cached record are valid as long as the cache.
// Threads:   as Dataset. Failure: as the inner dataset; if memory is exhausted, the cache stops growing.
// Cost:      8 bytes per record; a hit copies nothing.

#include <cstdint>
#include <memory>

#include "unstarve/storage/cache/byte_budget.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

struct CacheCounts {
  std::uint64_t records = 0;  // in the cache
  std::uint64_t bytes = 0;    // used of the budget
  std::uint64_t limit = 0;    // the budget
};

class EncodedCache : public Dataset {
 public:
  [[nodiscard]] virtual CacheCounts counts() const = 0;
};

// `limit_bytes`: values and their bookkeeping. Throws Error(kArgument) for a dataset of raw pixels, which is in memory
// already.
[[nodiscard]] std::shared_ptr<const EncodedCache> cache_encoded(std::shared_ptr<const Dataset> inner,
                                                                std::uint64_t limit_bytes);
// With a shared budget: a record that does not fit now may be cached later.
[[nodiscard]] std::shared_ptr<const EncodedCache> cache_encoded(std::shared_ptr<const Dataset> inner,
                                                                std::shared_ptr<ByteBudget> room);

}  // namespace unstarve
