#pragma once
// A wish to stop that goes along with a call, however deep: what opens data asks it between its pieces.
//
//   CancelScope scope(stop.get_token());     the caller's thread, for as long as the scope lives
//   open_dataset(path);                      throw_if_cancelled() in its loops, and in the tasks of its thread pools
//
// Threads:   the token is the thread's own; ThreadPool hands that of the submitting thread on to the task, and drops
//            tasks that have not begun when it asks.
// Failure:   throw_if_cancelled() throws Error(kCancelled). Nobody asks outside of a scope.
// Cost:      a look at an atomic: for each record, file or piece, not for each byte.

#include <stop_token>

namespace unstarve {

class CancelScope {
 public:
  explicit CancelScope(std::stop_token token);
  ~CancelScope();  // the token before holds again
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  std::stop_token before_;
};

[[nodiscard]] const std::stop_token& cancel_token() noexcept;  // of this thread
void throw_if_cancelled();

}  // namespace unstarve
