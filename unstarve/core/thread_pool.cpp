#include "unstarve/core/thread_pool.h"

#include <pthread.h>

#include <utility>

#include "unstarve/core/cancel.h"
#include "unstarve/core/format_error.h"

namespace unstarve {

ThreadPool::ThreadPool(int threads) {
  if (threads < 1) throw argument_error("thread pool: {} threads; expected at least 1", threads);
  threads_.reserve(static_cast<std::size_t>(threads));
  try {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (...) {
    stop_.request_stop();  // otherwise the threads that have started would never be joined
    throw;
  }
}

ThreadPool::~ThreadPool() { stop_.request_stop(); }

void ThreadPool::submit(std::function<void()> task) {
  if (cancel_token().stop_possible()) {
    task = [token = cancel_token(), inner = std::move(task)] {
      const CancelScope scope(token);
      throw_if_cancelled();
      inner();
    };
  }
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  available_.notify_one();
}

void ThreadPool::wait() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return tasks_.empty() && running_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

bool ThreadPool::wait_for(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, time, [&] { return tasks_.empty() && running_ == 0; });
}

void ThreadPool::work() {
  pthread_setname_np(pthread_self(), "unstarve-pool");
  const std::stop_token stop = stop_.get_token();
  std::unique_lock lock(mutex_);
  while (available_.wait(lock, stop, [&] { return !tasks_.empty(); }) && !stop.stop_requested()) {
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    ++running_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      task();
    } catch (...) {
      failure = std::current_exception();
    }
    task = nullptr;  // destroys its captures before wait() can return
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    failure = nullptr;
    if (--running_ == 0 && tasks_.empty()) idle_.notify_all();
  }
}

}  // namespace unstarve
