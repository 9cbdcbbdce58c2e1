#pragma once
// Cancellation of nested calls through a thread-local stop token.
//
//   CancelScope scope(stop.get_token());     sets the token of the caller's thread while the scope exists
//   open_dataset(path);                      calls throw_if_cancelled() in its loops and in its thread pools' tasks
//
// Threads:   each thread has its own token. ThreadPool passes the submitting thread's token on to the task and drops
//            tasks that have not started when a stop is requested.
// Failure:   throw_if_cancelled() throws Error(kCancelled); outside of a scope it does nothing.
// Cost:      one atomic load: check per record, file or piece, not per byte.

#include <stop_token>

namespace unstarve {

class CancelScope {
 public:
  explicit CancelScope(std::stop_token token);
  ~CancelScope();  // restores the previous token
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  std::stop_token before_;
};

[[nodiscard]] const std::stop_token& cancel_token() noexcept;  // of this thread
void throw_if_cancelled();

}  // namespace unstarve
