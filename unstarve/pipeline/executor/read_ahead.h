#pragma once
// Threads that bring records before the workers ask for them, so that a worker never waits for one disk or server at a
// time.
//
//   order ──▶ readers: Dataset::read_many() of a few records each ──▶ ring of records ──▶ take() by the workers
//
// A ring of twice as many records as reads are in flight, in the order of the run: half of them on their way, half of
// them there. Which thread reads a record never shows in what it holds.
//
// Relaxed order: take_any() gives whatever is there, so that one record that takes long holds only its own place in the
// ring; records are then read one by one, since those read together wait for the slowest.
//
// Exact order: pause() lets the readers sleep from a record on, resume() wakes them for a later one; between the two
// the workers read for themselves.
//
// Ownership: owns its threads and the ring's record buffers; take() exchanges a buffer for the worker's used one.
// Threads:   take() by any worker; close() by any thread.
// Failure:   what reading a record throws comes out of its take(), of no other's.
// Memory:    the ring holds at most kReadAheadBytes, or two records where those are larger. A buffer that has grown for
//            a record far above the usual goes when it comes back, so that in time not all of them are as large; with
//            fewer reads in flight so do those that are too many.
// Cost:      one critical section per record; allocations are those of read_many(), and those of dropped buffers.

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "unstarve/core/profile.h"
#include "unstarve/pipeline/order/run_order.h"
#include "unstarve/pipeline/plan/memory_plan.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

class ReadAhead {
 public:
  struct Options {
    int reads = 64;  // in flight; 1 or more
    std::uint64_t limit_bytes = kReadAheadBytes;
    bool relaxed = false;     // take_any() instead of take()
    std::uint64_t first = 0;  // number in the run of the first record that is taken
  };
  // A record of relaxed order, or what reading it threw.
  struct Ready {
    std::uint64_t number = 0;  // in the run
    bool is_read = true;       // false: it was spared
    std::exception_ptr failure;
  };
  // Whether record `id` need not be read (its pixels are in a cache): then take() gives none.
  using Spare = std::function<bool(std::uint64_t id)>;

  ReadAhead(std::shared_ptr<const Dataset> dataset, const RunOrder& order, Options options, Spare spare = {});
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // The record of sample `index` of a batch; each must be taken once, in any order that keeps near the run's. Waits for
  // it. False when it was spared, or after close(): the worker reads it itself.
  [[nodiscard]] bool take(std::uint32_t epoch, std::uint64_t batch, std::uint64_t index, RecordBuffer& record);
  // The first record that is there, of those before the number that allow() told last. Waits for one; nothing when all
  // are taken, or after close().
  [[nodiscard]] std::optional<Ready> take_any(RecordBuffer& record);
  void allow(std::uint64_t before);
  void close();

  // Exact order: no record from `first` on is brought any more, those that are there or on their way are dropped. Those
  // before are, to be taken as ever, and the ring's memory goes with them. Nothing where the readers rest already.
  // Precondition: none from `first` on was taken, nor is being waited for.
  void pause(std::uint64_t first);
  // Readers that rest bring the records from `first` on. False, and nothing happens, while one from before their rest
  // is still to be begun, and where they do not rest. Precondition: `first` is not below pause()'s.
  [[nodiscard]] bool resume(std::uint64_t first);

  // From now on so many reads in flight, 1 to Options::reads; never fewer than one thread takes on at once. Once round
  // the ring it holds memory for twice as many.
  void set_reads(int reads);

  // Held by the ring's records.
  [[nodiscard]] std::uint64_t memory_bytes() const;
  // Stage "ahead": records read, and for how long they were on their way.
  [[nodiscard]] StageProfile profile() const;

 private:
  enum class State { kFree, kReading, kReady };
  struct Entry {
    State state = State::kFree;
    std::uint64_t number = 0;  // in the run
    std::uint64_t id = 0;
    bool spared = false;
    bool dropped = false;  // while it was read: nobody takes it
    RecordBuffer record;
    std::exception_ptr failure;
  };

  void work();
  // Keeps a used buffer where there are not enough, for a place that has none.
  void set_aside(RecordBuffer& buffer);
  void take_aside(RecordBuffer& buffer);
  // Whether a used buffer is worth its memory.
  [[nodiscard]] bool fits(const RecordBuffer& record) const;
  // The entry's record, handed to a worker; its place in the ring is free then.
  void hand_over(Entry& entry, RecordBuffer& record);
  // All of these expect mutex_ to be held.
  [[nodiscard]] std::uint64_t may_begin() const;     // how many records a reader may take on now, 0 to chunk_
  [[nodiscard]] std::uint64_t bytes_window() const;  // records that the byte limit allows
  [[nodiscard]] std::uint64_t window() const;        // those that may be on their way or there
  [[nodiscard]] bool rests() const { return end_ < order_.samples(); }
  void drop(Entry& entry);                               // one that is there: frees its place and its memory
  [[nodiscard]] Entry* ready_entry();                    // the first that take_any() may give
  [[nodiscard]] Entry& entry_for(std::uint64_t number);  // a free one for a record that is to be read

  void read(std::span<Entry* const> entries, std::vector<std::uint64_t>& ids, std::vector<RecordBuffer>& records);

  const std::shared_ptr<const Dataset> dataset_;
  const RunOrder order_;
  const Options options_;
  const Spare spare_;
  const std::uint64_t chunk_;

  mutable std::mutex mutex_;
  std::condition_variable free_;     // for readers
  std::condition_variable ready_;    // for workers
  std::vector<Entry> ring_;          // entry of record n: n % size
  std::vector<RecordBuffer> aside_;  // where the window is narrower than the ring, which it goes round
  std::uint64_t begun_;              // records before this number
  std::uint64_t end_;                // none from here on is begun; order_.samples() but where they rest
  std::uint64_t taken_;              // so many, with those that others read
  std::uint64_t largest_ = 1;  // bytes of the largest record of late: it fades, so that one outlier narrows the window
                               // for a while and not for good
  double usual_ = 0;           // bytes of a record, a mean over the latest
  std::uint64_t held_ = 0;
  std::uint64_t allowed_ = 0;  // of relaxed order: records before this number may be taken
  std::uint64_t reads_;        // in flight at most
  std::uint64_t reading_ = 0;  // records in flight
  StageProfile profile_{"ahead"};
  bool closed_ = false;
  std::vector<std::jthread> threads_;  // last: joined before the rest goes
};

}  // namespace unstarve
