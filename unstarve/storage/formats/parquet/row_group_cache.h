#pragma once
// A least-recently-used cache of decoded row groups, with a thread pool that decodes groups in advance.
//
// get() decodes a missing group in the calling thread; other threads that request the same group wait for it. A group
// larger than the budget stays until the next one is decoded. Requests in increasing order are treated as sequential
// reading: the next groups are decoded in advance, at most one per pool thread and within half of the budget.
//
// Ownership: groups are shared with their users. Threads: get() and prefetch() from any thread.
// Failure:   get() throws what decode() throws. An Error(kInput) is cached like a group; other failures are retried.
// Cost:      memory is the budget, and one group per thread that decodes.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "unstarve/core/thread_pool.h"
#include "unstarve/storage/formats/parquet/parquet_file.h"

namespace unstarve {

class RowGroupCache {
 public:
  struct Source {
    std::size_t groups = 0;
    // Called concurrently, for different groups.
    std::function<std::shared_ptr<const RowGroup>(std::size_t group)> decode;
    // Approximate memory of the group, known before it is decoded.
    std::function<std::uint64_t(std::size_t group)> expected_bytes;
  };

  RowGroupCache(Source source, std::uint64_t budget_bytes, int threads);

  // Precondition: group < groups.
  [[nodiscard]] std::shared_ptr<const RowGroup> get(std::size_t group);
  // Starts decoding in the background, unless the group is cached, too large, or too many are in flight.
  void prefetch(std::size_t group) noexcept;

  // Number of decoded groups since construction.
  [[nodiscard]] std::uint64_t decoded() const;

 private:
  enum class State { kQueued, kDecoding, kReady };
  struct Entry {
    State state = State::kQueued;
    std::shared_ptr<const RowGroup> group;  // if ready
    std::exception_ptr failure;             // or this
    std::uint64_t bytes = 0;
    std::list<std::size_t>::iterator recent;  // in recent_, if ready
  };
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] std::shared_ptr<const RowGroup> wait_or_decode(std::size_t group, Lock& lock);
  [[nodiscard]] std::shared_ptr<const RowGroup> decode(std::size_t group, Lock& lock);
  void settle(std::list<std::size_t>& node, std::shared_ptr<const RowGroup> decoded,
              std::exception_ptr failure) noexcept;
  void evict(std::size_t keep) noexcept;
  void note_order(std::size_t group);
  void queue(std::size_t group);
  void run_queued(std::size_t group) noexcept;

  Source source_;
  std::uint64_t budget_;
  mutable std::mutex mutex_;
  std::condition_variable settled_;
  std::unordered_map<std::size_t, Entry> entries_;
  std::list<std::size_t> recent_;  // ready groups, most recently used first
  std::uint64_t held_ = 0;         // bytes of the ready groups
  std::uint64_t decoded_ = 0;
  std::size_t in_flight_ = 0;      // groups queued or being decoded in the pool
  std::size_t expected_next_ = 0;  // the next group of sequential reading
  ThreadPool pool_;                // last: its threads use the members above
};

}  // namespace unstarve
