#pragma once
// What the program prints in addition to results: errors, notices, and a progress bar on standard error if that
// is a terminal.
//
// Threads: one. The destructor erases the bar.
// The remaining time is extrapolated from the progress since the first call, so that work done by an earlier run does
// not distort it. A share of 0 restarts the estimate.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "unstarve/jobs/common/progress.h"

namespace unstarve::cli {

class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(std::string_view what, double share);
  // A callback for a job; must not outlive the bar.
  [[nodiscard]] Progress callback() {
    return [this](std::string_view what, double share) { show(what, share); };
  }

 private:
  bool terminal_;
  std::int64_t start_ns_ = 0;  // time at which the share was first_share_
  double first_share_ = 0;
  std::int64_t shown_ns_ = 0;  // 0: never
  std::string shown_what_;
};

// Runs `job(progress)` with a progress bar, which is erased before the result is returned.
template <class Job>
auto with_progress(Job&& job) {
  ProgressBar bar;
  return job(bar.callback());
}

// Prints notices of the libraries (storage/dataset/notice.h) on standard error: the first one of each kind
// immediately, and at destruction the number of the others. At most one object at a time.
class Notices {
 public:
  Notices();
  ~Notices();
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

 private:
  std::set<std::string> seen_;   // commands may open the same data more than once
  std::set<std::string> kinds_;  // of which one has been shown
};

// Prints text to standard output and flushes it. After an error, the text is dropped: see output_is_closed() if its
// reader has gone, throw_output_error() otherwise. The command then completes the files that it writes.
void print_output(const std::string& text);

// Throws the error of print_output() that was not a reader that has gone, for example Error(kIo) for a full disk.
void throw_output_error();

// Whether the reader of standard output has gone, as after `unstarve ... | head -1`. The program then completes the
// files that it writes, and ends by SIGPIPE without a message, as git and grep do.
[[nodiscard]] bool output_is_closed();

// Prints to standard error; what cannot be printed is dropped.
void print_to_stderr(const std::string& text);

// An error on standard error; with `json` also as an object on standard output.
void print_error(bool json, const char* kind, const std::string& message);

// Columns of the terminal of standard output; 120 if it is not a terminal.
[[nodiscard]] int terminal_width();

}  // namespace unstarve::cli
