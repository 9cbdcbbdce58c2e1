#pragma once
// The threads of a run: workers that fill batch slots, and readers that prefetch the records of the workers.
//
// Ownership: owns all threads; shares the delivery with the batches that the consumer holds; borrows the rest.
// Threads:   start(), begin_read_ahead() and end_read_ahead() by one thread at a time, all others by any. Destruction
//            joins all threads.
// Failure:   samples fail their batch (worker.h).

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "unstarve/pipeline/executor/worker.h"

namespace unstarve {

class Executor {
 public:
  // `periodic`: called by workers; may call this executor.
  Executor(const Run& run, ErrorPolicy& errors, std::shared_ptr<Delivery> delivery, PeriodicCall& periodic);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Starts the plan's reads and threads. Throws Error(kMemory) if a thread cannot be started.
  void start();
  // Wakes and ends all threads; a waiting consumer gets nothing.
  void close();

  // Starts threads until there are `count`, unless closed; returns their number. Throws std::system_error.
  // Precondition: no more than the plan's threads if these are fixed, or than the autotuner's limit.
  int start_threads(int count);
  [[nodiscard]] int started_threads();
  // The number of threads that work; the others pause.
  void set_threads(int count) { shared_.gate.set(count); }
  [[nodiscard]] int threads() const { return shared_.gate.open(); }

  // Starts to prefetch the records of all samples that are not claimed yet, up to `reads` at a time. False if no sample
  // is left, or if read-ahead cannot begin yet. Throws Error(kMemory).
  bool begin_read_ahead(int reads);
  void end_read_ahead();
  [[nodiscard]] ReadAhead* read_ahead() const { return shared_.read_ahead.load(std::memory_order_acquire); }

  [[nodiscard]] Delivery& delivery() const { return shared_.delivery; }
  [[nodiscard]] const StageCounters& counters() const { return shared_.counters; }
  [[nodiscard]] const DecodeCounts& decoded() const { return shared_.decoded; }

 private:
  WorkerShared shared_;
  const std::shared_ptr<Delivery> delivery_;
  std::unique_ptr<ReadAhead> readers_;
  std::mutex threads_mutex_;
  bool closed_ = false;
  std::vector<std::jthread> threads_;  // last: joined before the members that they use are destroyed
};

}  // namespace unstarve
