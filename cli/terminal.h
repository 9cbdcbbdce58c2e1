#pragma once
// What the program prints besides results: a progress bar on standard error when that is a terminal, nothing otherwise.
//
// Threads: one. The bar is erased when the object goes away, so that results and errors stand alone.
//
// The time left is what the share done since the first one shown took, taken on: what an earlier run left done does not
// make this one look quick. A share of 0 begins it anew, so that opening the data is no part of it.

#include <cstdint>
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
  // To hand to a job; must not outlive the bar.
  [[nodiscard]] Progress callback() {
    return [this](std::string_view what, double share) { show(what, share); };
  }

 private:
  bool terminal_;
  std::int64_t start_ns_ = 0;  // when the share was first_share_
  double first_share_ = 0;
  std::int64_t shown_ns_ = 0;  // 0: never
  std::string shown_what_;
};

// Columns of standard output's terminal; 120 when it is none.
[[nodiscard]] int terminal_width();

}  // namespace unstarve::cli
