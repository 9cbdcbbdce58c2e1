#pragma once
// The fetches of one call of Engine::fetch(), whose caller waits until all of them have ended.
//
// Ownership: the waiting caller owns it. The engine does not use it after the last end_one().
// Threads:   wait() by the caller, end_one() by the engine's thread, the others by any thread.
// Failure:   wait() throws the failure of a fetch.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>

#include "unstarve/core/error.h"

namespace unstarve::remote {

// An Error for another thread. Copies of an Error share their text, and ThreadSanitizer does not see that libstdc++
// counts the owners atomically.
struct Failure {
  explicit Failure(const Error& error) : kind(error.kind()), message(error.what()) {}
  [[noreturn]] void raise() const { throw Error(kind, message); }

  ErrorKind kind;
  std::string message;
};

class FetchBatch {
 public:
  explicit FetchBatch(std::size_t fetches) : pending_(fetches) {}

  // Returns or throws when all fetches have ended.
  void wait();
  // Requests that the remaining fetches end early.
  void cancel() { cancelled_ = true; }
  [[nodiscard]] bool cancelled() const { return cancelled_; }
  // One fetch has ended; `failure` is null if it succeeded.
  void end_one(const Failure* failure = nullptr);

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t pending_;
  std::optional<Failure> failure_;
  std::atomic<bool> cancelled_{false};
};

inline void FetchBatch::wait() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return pending_ == 0; });
  if (failure_) failure_->raise();
}

// Notifies with the lock held: afterwards the caller may destroy the batch.
inline void FetchBatch::end_one(const Failure* failure) {
  const std::lock_guard lock(mutex_);
  if (failure != nullptr) failure_ = *failure;
  if (--pending_ == 0) ended_.notify_all();
}

}  // namespace unstarve::remote
