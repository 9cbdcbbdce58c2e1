#pragma once
// The records of a read-ahead, in the order of the run: which to read next, which are ready, which were taken.
//
//   free ── begin() ──▶ reading ── end() ──▶ ready ── take() ──▶ free
//
// The ring has two records per read in flight: half of them being read, half of them ready.
//
//   exact order    record n is entry n % size; entry_of(n) is taken when it is ready
//   relaxed order  any free entry; first_ready() is taken, so a slow read occupies only its own entry
//
// Ownership: owns the records. Entries that are being read are used by their reader alone.
// Threads:   one at a time, apart from these entries.
// Memory:    at most Options::limit_bytes, or two records if they are larger (record_memory.h).

#include <cstdint>
#include <exception>
#include <vector>

#include "unstarve/pipeline/read_ahead/record_memory.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

class RecordRing {
 public:
  struct Options {
    int reads = 1;  // in flight; 1 or more
    std::uint64_t limit_bytes = 0;
    bool relaxed = false;
    bool paused = false;
  };
  enum class State { kFree, kReading, kReady };
  struct Entry {
    State state = State::kFree;
    std::uint64_t number = 0;  // in the run
    std::uint64_t id = 0;
    bool skipped = false;
    bool dropped = false;  // while it was read: no worker takes it
    RecordBuffer record;
    std::exception_ptr failure;
  };

  // For a run of `samples` records, of which a reader reads up to `chunk` together.
  RecordRing(std::uint64_t samples, std::uint64_t chunk, const Options& options);

  // Records that a reader may start now, 0 to the chunk.
  [[nodiscard]] std::uint64_t may_begin() const;
  // The entries of the next `count` records, to be read. Precondition: count <= may_begin().
  void begin(std::uint64_t count, std::vector<Entry*>& entries);
  // They were read. Returns the bytes of their values.
  std::size_t end(const std::vector<Entry*>& entries);

  [[nodiscard]] Entry& entry_of(std::uint64_t number) { return entries_[number % entries_.size()]; }
  // The first ready record before the number of allow(), or null.
  [[nodiscard]] Entry* first_ready();
  void allow(std::uint64_t before) { allowed_ = before; }
  // Swaps a ready record with a worker's used one.
  void take(Entry& entry, RecordBuffer& record);
  [[nodiscard]] bool all_taken() const { return taken_ == samples_; }

  // As in ReadAhead.
  void pause(std::uint64_t first);
  [[nodiscard]] bool resume(std::uint64_t first);
  void set_reads(std::uint64_t reads) { reads_ = reads; }

  [[nodiscard]] std::uint64_t memory_bytes() const { return memory_.bytes(); }

 private:
  [[nodiscard]] std::uint64_t window() const;  // records that may be in flight or ready
  [[nodiscard]] bool paused() const { return end_ < samples_; }
  [[nodiscard]] Entry& free_entry(std::uint64_t number);
  void drop(Entry& entry);

  const std::uint64_t samples_, chunk_;
  const bool relaxed_;
  std::vector<Entry> entries_;
  RecordMemory memory_;
  std::uint64_t begun_ = 0;    // records before this number
  std::uint64_t end_;          // no record from here on is begun
  std::uint64_t taken_ = 0;    // records, including those that the workers read
  std::uint64_t allowed_ = 0;  // relaxed order: records before this number may be taken
  std::uint64_t reads_;        // upper limit in flight
  std::uint64_t reading_ = 0;  // in flight
};

}  // namespace unstarve
