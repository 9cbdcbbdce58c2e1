#pragma once
// Samples of the states of a few threads over some seconds, and the ThreadWindow that shows the most typical steps.
//
// Threads: plain data and pure functions. Failure: none.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/diagnose/probes/proc_text.h"
#include "unstarve/diagnose/probes/thread_waits.h"
#include "unstarve/diagnose/profile/run_profile.h"
#include "unstarve/diagnose/traces/intervals.h"

namespace unstarve {

struct SampledThread {
  std::string name;
  std::vector<ThreadState> states;  // state i: from times[i] to times[i + 1]; fewer: the thread has ended
};

struct ThreadSamples {
  int process = 0;                     // that trains
  std::vector<double> times;           // seconds of CLOCK_MONOTONIC, ascending
  std::vector<SampledThread> threads;  // the main thread of `process` first
};

// What is known of a thread at one moment. `wait`: kNone if it runs or can run; nothing: unknown.
struct ThreadLook {
  RunTimes times;
  std::optional<Wait> wait;
};
// The state in which the thread was for the longest part of the `seconds` between two looks. `last`: the state before.
[[nodiscard]] ThreadState state_between(const ThreadLook& from, const ThreadLook& to, double seconds, ThreadState last);

struct StepMarks {
  std::string source;          // empty: unknown
  std::vector<double> begins;  // of steps, and the end of the last one: seconds of CLOCK_MONOTONIC, ascending
};
// Begins of steps of about `period_s` by the states of the main thread: it does the same in every step. Steps begin
// where its longest wait begins. `source` is empty if they do not repeat.
[[nodiscard]] StepMarks repeated_steps(const ThreadSamples& samples, double period_s);

// The first of these of which at least two are within the samples: `marked` by the program; NVTX `ranges` of the
// process, nanoseconds of CLOCK_MONOTONIC, in order; repeated_steps(), if the `rate` of steps per second is not 0.
[[nodiscard]] StepMarks marks_within(const ThreadSamples& samples, const StepMarks& marked,
                                     const std::vector<Interval>& ranges, double rate);

// At least kWindowSteps steps, of 40 samples together, whose durations are nearest to the median; without marks,
// the samples in the middle. `begin_s`: the begin of watching, seconds of CLOCK_MONOTONIC.
[[nodiscard]] ThreadWindow thread_window(const ThreadSamples& samples, const StepMarks& marks, double begin_s);

}  // namespace unstarve
