#pragma once
// A fixed number of threads that run submitted tasks in the order of submission.
//
// Ownership: owns its threads and the submitted tasks.
// Threads:   submit() from any thread, also from tasks; wait() from any thread, but not from a task.
// Failure:   wait() rethrows the first exception of a task since the last wait(); the other tasks still run.
//            Error(kArgument) for fewer than one thread.
// Closing:   the destructor lets running tasks finish, drops those that have not started, and joins. Long tasks should
//            check the pool's stop_token.
// Cancelling: a task inherits the submitting thread's cancel token (cancel.h) and is dropped if a stop is requested
//            before it starts.
// Cost:      one allocation and one mutex per task: suited to tasks of at least a millisecond.

#include <chrono>
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
  // Blocks until no task is queued or running.
  void wait();
  // The same for at most this time, without rethrowing; false if tasks are left.
  [[nodiscard]] bool wait_for(std::chrono::milliseconds time);

  [[nodiscard]] int threads() const { return static_cast<int>(threads_.size()); }
  // The destructor requests a stop.
  [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }

 private:
  void work();

  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable_any available_;  // a task was queued
  std::condition_variable idle_;           // no task is queued or running
  std::deque<std::function<void()>> tasks_;
  std::size_t running_ = 0;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;  // last member: joined before the others are destroyed
};

}  // namespace unstarve
