#pragma once
// Finds the steps of the program by the period of what its main thread does, see step_period.h.
//
// A thread of its own reads counters of the main thread about every 5 ms in windows of eight seconds: CPU time,
// voluntary context switches, calls that read, bytes that were read and written. Samples are shifted by
// random times, so that they do not beat with the clock of the scheduler. The first window begins when the process has
// run for four seconds; further ones follow at distances at which they take less than `cpu_share` of a core. A window
// takes about 0.08 s of CPU time.
//
// The steps are known if most of the latest windows with at least 4 s agree on a period, of 25 ms to 0.8 s. A window
// in which the thread waited for a core for more than 5 % of the time needs another one that agrees: turns of programs
// on a core may have a period, too. Windows have no result if the main thread uses less than 2 % of a core, or sleeps
// for half of the time (a timer).
//
// Memory:  2 x 1600 samples and 8 results. Threads: one caller.
// Failure: never throws except std::bad_alloc and std::system_error (no thread). Counters that cannot be read are left
//          out: those of read and written bytes, and whether it sleeps, of other users' processes.

#include <functional>
#include <memory>
#include <span>

#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

struct StepProbeOptions {
  double cpu_share = 0.002;  // of one core
  double interval_s = 0.005;
  double window_s = 8;
};

class StepProbe {
 public:
  explicit StepProbe(const StepProbeOptions& options = {});
  ~StepProbe();
  StepProbe(const StepProbe&) = delete;
  StepProbe& operator=(const StepProbe&) = delete;

  // Begins and ends windows. `processes` have their roles; `seconds`: since the beginning. `is_allowed`: false while
  // something disturbs the program, which ends the present window without a result, or if its steps are known. Outside
  // of windows it is called once per second at most.
  void look(double seconds, std::span<const ProcessUse> processes, const std::function<bool()>& is_allowed);
  void finish();  // ends the present window

  [[nodiscard]] StepUse steps() const;  // without single steps; `source` is empty if there is no period
  [[nodiscard]] double cpu_s() const;   // that windows have used

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace unstarve
