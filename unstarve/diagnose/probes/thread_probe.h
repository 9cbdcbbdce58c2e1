#pragma once
// Samples what the important threads of the program do, in windows of about five steps, for a timeline.
//
// A thread of its own looks at up to 12 threads 800 times in a window: about every 5 ms in 4 s, more often or rarely if
// the duration of a step is known (2 to 60 s). They are the main thread of the process that trains, those of up to six
// workers of its loader, and the threads that used or waited for a CPU most in the quarter of a second before. The
// first window begins when the process has run for two seconds; further ones follow at distances at which they take
// less than `cpu_share` of a core, and replace it. A window takes about 0.05 s of CPU time.
//
// Memory:  2 x 12 x 800 states. Threads: one caller.
// Failure: never throws except std::bad_alloc and std::system_error (no thread). Of processes of other users, what
//          their threads wait for is unknown.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "unstarve/diagnose/probes/thread_samples.h"

namespace unstarve {

struct ThreadProbeOptions {
  double cpu_share = 0.002;  // of one core
};

class ThreadProbe {
 public:
  explicit ThreadProbe(const ThreadProbeOptions& options = {});
  ~ThreadProbe();
  ThreadProbe(const ThreadProbe&) = delete;
  ThreadProbe& operator=(const ThreadProbe&) = delete;

  // The steps that a process has marked, when a window ends: later, their times may be overwritten.
  using MarksOf = std::function<StepMarks(int process)>;
  // Begins and ends windows. `processes` have their roles; `seconds`: since the beginning; `step_s`: duration of a
  // step, 0: unknown.
  void look(double seconds, std::span<const ProcessUse> processes, double step_s, const MarksOf& marks_of);
  void finish(const MarksOf& marks_of);  // ends the present window

  struct Window {
    ThreadSamples samples;
    StepMarks marks;
  };
  [[nodiscard]] const Window& window() const;  // the latest one; without threads if there was none
  [[nodiscard]] double cpu_s() const;          // that windows have used

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace unstarve
