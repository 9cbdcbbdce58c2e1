#pragma once
// The one queue of the library: bounded, for any number of producers and consumers, and closable.
//
// Closing:  close() is for good. Producers are refused from then on; consumers get what is still inside, then nothing.
// Blocking: push() waits for room, pop() for an item; both also give up when their stop_token is asked to stop.
// Threads:  every call from any thread. The queue must outlive all calls.
// Failure:  Error(kArgument) for a capacity of 0. A refused push() leaves its argument untouched.
// Cost:     a mutex per call, no allocation after construction; T needs to be movable, without throwing.

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

#include "unstarve/core/error.h"

namespace unstarve {

template <class T>
class BoundedQueue {
  static_assert(std::is_nothrow_move_constructible_v<T>, "an item must not get lost on its way");

 public:
  explicit BoundedQueue(std::size_t capacity) : ring_(capacity) {
    if (capacity == 0) throw Error(ErrorKind::kArgument, "queue: capacity 0, expected at least 1");
  }
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  // True when the item went in; false when the queue was closed or `stop` was requested first.
  [[nodiscard]] bool push(T&& item, std::stop_token stop = {}) {
    std::unique_lock lock(mutex_);
    const bool woken = room_.wait(lock, stop, [&] { return closed_ || count_ < ring_.size(); });
    if (!woken || closed_) return false;
    put(std::move(item), lock);
    return true;
  }
  // The same without waiting: false also when the queue is full.
  [[nodiscard]] bool try_push(T&& item) {
    std::unique_lock lock(mutex_);
    if (closed_ || count_ == ring_.size()) return false;
    put(std::move(item), lock);
    return true;
  }

  // The oldest item; nothing when the queue is closed and empty, or `stop` was requested while it was empty.
  [[nodiscard]] std::optional<T> pop(std::stop_token stop = {}) {
    std::unique_lock lock(mutex_);
    items_.wait(lock, stop, [&] { return closed_ || count_ > 0; });
    return take(lock);
  }
  // The same without waiting.
  [[nodiscard]] std::optional<T> try_pop() {
    std::unique_lock lock(mutex_);
    return take(lock);
  }

  // Wakes every waiter; may be called more than once.
  void close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    room_.notify_all();
    items_.notify_all();
  }

  [[nodiscard]] bool closed() const {
    std::lock_guard lock(mutex_);
    return closed_;
  }
  [[nodiscard]] std::size_t size() const {
    std::lock_guard lock(mutex_);
    return count_;
  }
  [[nodiscard]] std::size_t capacity() const { return ring_.size(); }

 private:
  // Waiters are woken after unlocking: they would only run into the mutex.
  void put(T&& item, std::unique_lock<std::mutex>& lock) {
    ring_[(first_ + count_) % ring_.size()].emplace(std::move(item));
    ++count_;
    lock.unlock();
    items_.notify_one();
  }
  std::optional<T> take(std::unique_lock<std::mutex>& lock) {
    if (count_ == 0) return std::nullopt;
    std::optional<T> item(std::move(*ring_[first_]));
    ring_[first_].reset();
    first_ = (first_ + 1) % ring_.size();
    --count_;
    lock.unlock();
    room_.notify_one();
    return item;
  }

  mutable std::mutex mutex_;
  std::condition_variable_any room_, items_;
  std::vector<std::optional<T>> ring_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  bool closed_ = false;
};

}  // namespace unstarve
