#pragma once
// A fixed number of threads that run what is submitted, in the order of submission.
//
// Ownership: owns its threads and the tasks it was given.
// Threads:   submit() and wait() from any thread, submit() from tasks too; wait() never from a task.
// Failure:   the first exception of a task since the last wait() is rethrown by wait(); the other tasks still run.
//            Error(kArgument) for fewer than one thread.
// Closing:   the destructor lets running tasks finish, drops those that have not begun, and joins. A task that may run
//            long takes the pool's stop_token and asks it.
// Cancelling: a task has the submitting thread's wish to stop (cancel.h), and is dropped if that came before it began.
// Cost:      one allocation and one mutex per task: for pieces of work of a millisecond and more.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace unstarve {

class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void submit(std::function<void()> task);
  // Returns when nothing is queued or running.
  void wait();

  [[nodiscard]] int threads() const { return static_cast<int>(threads_.size()); }
  // Requested by the destructor.
  [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }

 private:
  void work();

  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable_any available_;  // a task was queued
  std::condition_variable idle_;           // none is left
  std::deque<std::function<void()>> tasks_;
  std::size_t running_ = 0;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;  // last: joined before anything they use goes
};

}  // namespace unstarve
