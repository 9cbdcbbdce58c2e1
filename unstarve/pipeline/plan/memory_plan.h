#pragma once
// Divides execution.memory_limit_mb among the parts of a pipeline before it runs (docs/decisions/0014-memory-limit.md).
//
//   limit = batches | workers' scratch memory | batches on a device | larger images | read-ahead | cache
//
// The first three are the minimum: one prefetched batch, the batches that a consumer holds while it requests the next
// (slot_count.h), and one share per worker, which fits the largest image of a sample of the data. The others divide
// the rest. A consumer that keeps more batches than fit waits until it releases one. An image that exceeds its worker's
// share borrows from the part for larger images what its header and its selected region require.
//
// Not counted: mapped files (data, a cache in a folder), the dataset's index, the list of a filter (4 bytes per
// sample), the program and the stacks of its threads.
//
// Threads: pure. Failure: plan_memory() throws Error(kArgument) if the minimum exceeds the limit.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/size.h"

namespace unstarve {

class Operation;

// Limit of the records that read-ahead holds; two records if those are larger.
inline constexpr std::uint64_t kReadAheadBytes = std::uint64_t{256} << 20;

// Requirements of a pipeline, in bytes unless noted.
struct MemoryNeeds {
  std::uint64_t limit = 0;  // 0: none
  std::uint64_t batch = 0;  // one slot: pixels, labels, ids, targets
  std::uint64_t worker = 0;
  std::uint64_t device = 0;  // held by the consumer on a device
  std::uint64_t record = 0;  // largest record of a sample of the data
  int threads = 1;
  bool fewer_threads = false;  // the number of threads may be reduced
  int prefetch = 2;            // batches
  bool grow = false;           // slots may be added during the run (slot_count.h)
  bool relaxed = false;        // out-of-order delivery
  bool read_ahead = false;
  std::uint64_t cache = 0;  // requested in memory; 0: none
};

struct MemoryPlan {
  MemoryNeeds needs;
  std::uint64_t limit = 0;  // 0: none; the other members then are the requirements
  std::uint64_t batch = 0;
  std::uint64_t worker = 0;
  std::uint64_t device = 0;
  int threads = 1;
  int prefetch = 2;
  std::uint64_t larger_images = 0;
  std::uint64_t read_ahead = 0;  // 0: no read-ahead
  std::uint64_t cache = 0;
  std::size_t kept_batches = 0;  // initial slots
  std::size_t max_batches = 0;   // maximum of slots; 0: no limit
  int max_threads = 0;           // maximum of autotuned threads; 0: no limit
};

[[nodiscard]] MemoryPlan plan_memory(const MemoryNeeds& needs);
// For autotuned threads: moves half of the memory for additional batches to additional workers.
void leave_room_for_threads(MemoryPlan& plan);

// The smallest limit in megabytes at which plan_memory() reserves `bytes` for larger images; at least needs.limit.
[[nodiscard]] std::uint64_t limit_for_larger_image(MemoryNeeds needs, std::uint64_t bytes);

// The images that a worker holds.
struct WorkerLoad {
  std::uint64_t record_bytes = 0;
  Size image;                // input of the first operation
  Size decoded;              // written by the decoder; empty: pixels are stored
  Size coefficients;         // whole image of which the decoder holds coefficients (progressive JPEG) or rows (PNG)
  bool pixel_cache = false;  // written to a cache of pixels
};
// Memory of a worker that applies `operations` to such images: decoder state, record, images, scratch memory.
[[nodiscard]] std::uint64_t worker_bytes(const WorkerLoad& load,
                                         std::span<const std::shared_ptr<const Operation>> operations);
// One line: the limit and its parts; empty without a limit.
[[nodiscard]] std::string explain(const MemoryPlan& plan);

// The memory of one component at present.
struct MemoryShare {
  std::string component;    // "batches", "workers", "on the device", "larger images", "records read ahead", "cache"
  std::uint64_t bytes = 0;  // workers, on the device: the reserved share
  std::uint64_t most = 0;   // 0: no limit
};

}  // namespace unstarve
