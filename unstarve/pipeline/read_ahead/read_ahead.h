#pragma once
// Threads that read records before the workers need them, so that a worker does not wait for a disk or a server.
//
//   order ──▶ readers: Dataset::read_many() of a few records each ──▶ ring of records ──▶ take() by the workers
//
// Exact order: pause() stops the readers at a record and resume() restarts them at a later one; the workers read the
// records in between.
// Relaxed order: take_any() returns any record that is ready. Records are read one by one, because those that are read
// together wait for the slowest.
//
// Ownership: owns its threads and the records of the ring; take() swaps a record with the worker's used one.
// Threads:   take() and take_any() by any worker, all others by any thread.
// Failure:   take() throws what reading its record threw. The constructor throws Error(kMemory) without threads.
// Memory:    that of the ring (record_ring.h).
// Cost:      one critical section per record; allocates only in read_many() and for freed buffers.

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "unstarve/core/profile.h"
#include "unstarve/pipeline/order/run_order.h"
#include "unstarve/pipeline/read_ahead/record_ring.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

class ReadAhead {
 public:
  // reads: up to that many; relaxed: take_any() instead of take(); paused: resume() starts the reads.
  using Options = RecordRing::Options;
  // A record of relaxed order.
  struct Ready {
    std::uint64_t number = 0;  // in the run
    bool is_read = true;       // false: it was skipped
    std::exception_ptr failure;
  };
  // Whether record `id` need not be read, because its pixels are cached.
  using Skip = std::function<bool(std::uint64_t id)>;

  ReadAhead(std::shared_ptr<const Dataset> dataset, const RunOrder& order, Options options, Skip skip = {});
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Waits for the record of sample `index` of a batch. Each is taken once, roughly in the order of the run. False if it
  // was skipped and after close(): the worker then reads it if it needs it.
  [[nodiscard]] bool take(std::uint32_t epoch, std::uint64_t batch, std::uint64_t index, RecordBuffer& record);
  // Waits for the first record that is ready, among those before the number of allow(). Nothing if all are taken, and
  // after close().
  [[nodiscard]] std::optional<Ready> take_any(RecordBuffer& record);
  void allow(std::uint64_t before);
  void close();

  // Reads no record from `first` on, and frees those that were read already, and spare memory. Earlier records are
  // still read. Does nothing while paused. Precondition: no record from `first` on was taken or is waited for.
  void pause(std::uint64_t first);
  // Reads the records from `first` on. False, without effect, while an earlier record has yet to be read, and if not
  // paused. Precondition: `first` is not before pause()'s.
  [[nodiscard]] bool resume(std::uint64_t first);

  // Changes the number of reads in flight, 1 to Options::reads (but at least one reader's share), and the memory.
  void set_reads(int reads);

  [[nodiscard]] std::uint64_t memory_bytes() const;  // of the records in the ring
  // The read-ahead stage: records read, and the time that they were in flight.
  [[nodiscard]] StageProfile profile() const;

 private:
  using Entry = RecordRing::Entry;
  // The buffers of one reader.
  struct Reader {
    std::vector<Entry*> entries;  // that it reads
    std::vector<std::uint64_t> ids;
    std::vector<RecordBuffer> records;
    std::optional<Order::Epoch> epoch;
    std::uint32_t epoch_number = 0;
  };

  void work();
  void find_ids(Reader& reader) const;
  void read(Reader& reader) const;

  const std::shared_ptr<const Dataset> dataset_;
  const RunOrder order_;
  const Skip skip_;
  const std::uint64_t chunk_;  // records per reader

  mutable std::mutex mutex_;
  std::condition_variable free_;   // for readers
  std::condition_variable ready_;  // for workers
  RecordRing ring_;
  StageProfile profile_{"read_ahead"};
  bool closed_ = false;
  std::vector<std::jthread> threads_;  // last: joined before the rest is destroyed
};

}  // namespace unstarve
