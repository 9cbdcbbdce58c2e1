#pragma once
// How a pipeline's memory is divided where execution.memory_limit_mb bounds it, and who holds how much.
//
//   limit = batches being made and kept | workers' scratch | batches on a device | one image larger than expected |
//           records read ahead | cache
//
// The first three are what a pipeline cannot do without: fewer batches ahead than asked for, if need be one, beside the
// one that a consumer holds while it asks for the next (executor/slot_count.h tells where it is two), and a share per
// worker that holds the largest of the images looked at. Of what is left the others get their parts; a consumer that
// keeps batches has the rest and waits, once that is full, until it lets one go. An image that needs more than its
// worker's share borrows from the part for such images, one worker after the other, and gives it back with its buffers.
//
// Counted is what the pipeline allocates. Mapped files (data, a cache in a folder) are the page cache's and not
// counted, nor are the data set's index, the list of a filter (4 bytes a sample), the program and its threads' stacks.
//
// Threads: a MemoryPlan is plain data; MemoryPool may be used by any thread.
// Failure: plan_memory() throws Error(kArgument) when the least working set does not fit.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/image.h"
#include "unstarve/ops/base/operation.h"

namespace unstarve {

// Records read ahead hold at most this much, or two records where those are larger.
inline constexpr std::uint64_t kReadAheadBytes = std::uint64_t{256} << 20;

// What the plan is made of, in bytes where not said otherwise.
struct MemoryNeeds {
  std::uint64_t limit = 0;  // 0: none
  std::uint64_t batch = 0;  // one slot: pixels, labels, ids, targets
  std::uint64_t worker = 0;
  std::uint64_t device = 0;  // that the consumer keeps on a device
  std::uint64_t record = 0;  // the largest looked at
  int threads = 1;
  bool fewer_threads = false;  // whether the number of threads was left open
  int prefetch = 2;            // batches
  bool grow = false;           // whether slots may be added (executor/slot_count.h)
  bool relaxed = false;        // whether samples overtake each other
  bool read_ahead = false;     // whether records are read ahead
  std::uint64_t cache = 0;     // requested in memory; 0: none
};

struct MemoryPlan {
  std::uint64_t limit = 0;  // 0: none, and what follows is what there would be without
  std::uint64_t batch = 0;
  std::uint64_t worker = 0;
  std::uint64_t device = 0;
  int threads = 1;
  int prefetch = 2;
  std::uint64_t larger_images = 0;
  std::uint64_t read_ahead = 0;  // 0: nothing is read ahead
  std::uint64_t cache = 0;
  std::size_t kept_batches = 0;  // slots that there are from the start
  std::size_t most_batches = 0;  // slots, kept ones included; 0: any number
  int most_threads = 0;          // where their number is tuned; 0: any number
};

[[nodiscard]] MemoryPlan plan_memory(const MemoryNeeds& needs);
// Where threads are tuned: half of what batches to keep would have goes to further workers.
void leave_room_for_threads(MemoryPlan& plan);
// The images that a worker has to hold.
struct WorkerLoad {
  std::uint64_t record_bytes = 0;
  Size image;
  bool encoded = false;      // decoded by the worker
  bool pixel_cache = false;  // written to a cache of pixels
};
// Memory of a worker that applies `operations` to such images: decoder state, record, images, scratch.
[[nodiscard]] std::uint64_t worker_bytes(const WorkerLoad& load,
                                         std::span<const std::shared_ptr<const Operation>> operations);
// One line: the limit and who may hold how much of it; empty without a limit.
[[nodiscard]] std::string explain(const MemoryPlan& plan);

// Who holds how much now.
struct MemoryShare {
  std::string who;          // "batches", "workers", "on the device", "larger images", "records read ahead", "cache"
  std::uint64_t bytes = 0;  // workers, on the device: what is set aside for them
  std::uint64_t most = 0;   // 0: no limit
};

}  // namespace unstarve
