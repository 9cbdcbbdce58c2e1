#pragma once
// Limits how many worker threads of a loader run: workers with a higher number pause before their next sample.
//
// Threads: enter() by worker `number`; set() and close() by any thread. Cost: an atomic load unless the worker pauses.

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace unstarve::autotune {

class WorkerGate {
 public:
  explicit WorkerGate(int open) : open_(open) {}

  // Workers 0 .. open - 1 run; the others pause at their next enter().
  void set(int open);
  [[nodiscard]] int open() const { return open_.load(std::memory_order_relaxed); }
  // Waits until worker `number` may run; false after close().
  [[nodiscard]] bool enter(int number);
  // Ends the run and wakes all waiting workers.
  void close();

 private:
  std::atomic<int> open_;
  std::atomic<bool> closed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace unstarve::autotune
