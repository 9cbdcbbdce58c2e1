#pragma once
// Lets a job finish in order when the user presses Ctrl-C or a scheduler ends the process: SIGINT and SIGTERM request a
// stop. A second one, of either kind, ends the process immediately.
//
// Threads: one object at a time; a thread of its own passes the signal to the stop token.
// Failure: Error(kIo) if the system has no descriptors left.

#include <stop_token>
#include <thread>

#include "unstarve/core/error.h"

namespace unstarve::cli {

// An Error(kCancelled) by a signal: main() exits with 128 + the signal, as shells do.
class Interrupted : public Error {
 public:
  Interrupted(const Error& error, int signal) : Error(error), signal_(signal) {}
  [[nodiscard]] int signal() const noexcept { return signal_; }

 private:
  int signal_;
};

class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();  // restores the handlers
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  [[nodiscard]] int received() const noexcept;  // the signal; 0: none
  // Time since the signal; 0 without one.
  [[nodiscard]] double seconds_since() const noexcept;

 private:
  std::stop_source stop_;
  void (*before_int_)(int);
  void (*before_term_)(int);
  std::thread thread_;
};

}  // namespace unstarve::cli
