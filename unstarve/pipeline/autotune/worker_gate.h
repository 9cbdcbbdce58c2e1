#pragma once
// How many of a loader's worker threads work: those with a higher number stand still before their next claim.
//
// Threads: enter() by the worker of that number; set(), close() by any. Cost: an atomic load where one may go on.

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace unstarve::autotune {

class WorkerGate {
 public:
  explicit WorkerGate(int open) : open_(open) {}

  // Workers 0 .. open - 1 go on; the others stop when they come by.
  void set(int open);
  [[nodiscard]] int open() const { return open_.load(std::memory_order_relaxed); }
  // Waits until worker `number` may go on; false after close().
  [[nodiscard]] bool enter(int number);
  // Wakes those who wait; the run is over.
  void close();

 private:
  std::atomic<int> open_;
  std::atomic<bool> closed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace unstarve::autotune
