#pragma once
// Decoded row groups within a budget of bytes, and threads that decode the next ones before they are asked for.
//
// get() decodes in the calling thread what is not there; threads that want the same group wait for the one that decodes
// it. The group used least recently goes first; one that is larger than the budget stays until another comes. Groups
// first asked for in rising order are taken for sequential reading: the next ones are decoded ahead, as many as the
// pool has threads and half the budget holds.
//
// Ownership: shares each group with those that use it: it goes when the last of them lets go.
// Threads:   get() and prefetch() from any thread.
// Failure:   what decode() throws. An Error(kInput) is kept as a group is, so that a damaged group is decoded once and
//            not for each of its rows; other failures are tried again.
// Cost:      a mutex and a hash per get(). At most the budget, and one group for each thread that is decoding.

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
#include "unstarve/storage/formats/parquet/row_group.h"

namespace unstarve {

class RowGroupCache {
 public:
  struct Source {
    std::size_t groups = 0;
    // Called by several threads at once, for different groups.
    std::function<std::shared_ptr<const RowGroup>(std::size_t group)> decode;
    // About what the group will cost to keep, known before it is decoded.
    std::function<std::uint64_t(std::size_t group)> expected_bytes;
  };

  RowGroupCache(Source source, std::uint64_t budget_bytes, int threads);

  // Precondition: group < groups.
  [[nodiscard]] std::shared_ptr<const RowGroup> get(std::size_t group);
  // Begins to decode it in the background unless it is there, too large, or enough is under way.
  void prefetch(std::size_t group) noexcept;

  // Counted since the cache was made.
  [[nodiscard]] std::uint64_t decoded() const;
  [[nodiscard]] std::uint64_t held_bytes() const;

 private:
  enum class State { kQueued, kDecoding, kReady };
  struct Entry {
    State state = State::kQueued;
    std::shared_ptr<const RowGroup> group;  // when ready
    std::exception_ptr failure;             // or this
    std::uint64_t bytes = 0;
    std::list<std::size_t>::iterator place;  // in recent_, when ready
  };
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] std::shared_ptr<const RowGroup> wait_or_decode(std::size_t group, Lock& lock);
  [[nodiscard]] std::shared_ptr<const RowGroup> decode(std::size_t group, Lock& lock);
  void settle(std::list<std::size_t>& place, std::shared_ptr<const RowGroup> decoded,
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
  std::list<std::size_t> recent_;  // ready ones, the most recent first
  std::uint64_t held_ = 0;         // bytes of the ready ones
  std::uint64_t decoded_ = 0;
  std::size_t under_way_ = 0;      // queued or decoding in the pool
  std::size_t expected_next_ = 0;  // the group that sequential reading would ask for first
  ThreadPool pool_;                // last: its threads use the rest
};

}  // namespace unstarve
