#pragma once
// The time of a ladder: how much is left, its progress, and the spans of its recording.
//
// Threads: one. Failure: an exception of the progress callback (a cancelled run) is thrown on.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/common/recording.h"

namespace unstarve {

class LadderRecorder {
 public:
  // `seconds`: that the ladder may take. Borrows `progress`.
  LadderRecorder(double seconds, const Progress& progress)
      : seconds_(seconds), expected_(seconds), progress_(progress), start_(seconds_now()) {}

  [[nodiscard]] double elapsed() const { return seconds_now() - start_; }
  [[nodiscard]] double elapsed_counted() const { return elapsed() - not_counted_; }
  [[nodiscard]] double seconds_left() const { return std::max(0.0, seconds_ - elapsed_counted()); }
  // Of the time so far, these seconds do not count.
  void add_not_counted(double seconds) { not_counted_ += seconds; }

  // The ladder takes `seconds` in all at least, which may exceed those that it may take.
  void expect(double seconds) { expected_ = std::max(seconds_, seconds); }

  void report(std::string_view what) {
    what_ = what;
    report();
  }
  // The progress of the current activity.
  void report() const {
    if (progress_) progress_(what_, std::clamp(elapsed_counted() / expected_, 0.0, 1.0));
  }

  // Calls `work` as a span of the recording, also if it throws.
  template <class Work>
  void recorded(std::string_view name, const Work& work) {
    const std::size_t index = spans_.size();
    spans_.push_back({std::string(name), elapsed()});
    const auto end = [&] { spans_[index].seconds = elapsed() - spans_[index].begin_s; };
    try {
      work();
    } catch (...) {
      end();
      throw;
    }
    end();
  }
  // A part of the current activity has ended.
  void add(RecordedSpan span) {
    spans_.push_back(std::move(span));
    report();
  }
  [[nodiscard]] std::vector<RecordedSpan> take_spans() { return std::exchange(spans_, {}); }

 private:
  double seconds_, expected_;
  std::string what_;
  const Progress& progress_;
  double start_;
  double not_counted_ = 0;
  std::vector<RecordedSpan> spans_;
};

}  // namespace unstarve
