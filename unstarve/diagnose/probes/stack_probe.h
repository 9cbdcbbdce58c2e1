#pragma once
// Records stacks of the watched Python program by py-spy, in windows of a few seconds.
//
//   all threads, for four seconds, also those that wait
//   all threads of one worker of the loader, for two seconds, if there are workers: in turn
//   the threads that hold the interpreter's lock, for four seconds
//   all threads again
//
// The first window begins when the program has run for two seconds, so that its imports have mostly ended, and the
// others follow it; all take about 0.3 s of CPU time. One that shows mostly the start is repeated, five times at most.
// Further ones follow when all of them have taken less than `cpu_share` of a core. Of several ranks, each window
// records one: first all of them in turn, without distances.
//
// The turns are those of stack_turns.h, a recording is that of py_spy.h.
//
// Threads: one at a time. Failure: PythonStacks::missing has the reason; only std::bad_alloc is thrown.

#include <map>
#include <memory>
#include <span>

#include "unstarve/diagnose/profile/python_stacks.h"
#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

struct StackProbeOptions {
  double cpu_share = 0.004;  // of one core
  double window_s = 4;
  double worker_s = 2;
  int rate_all = 60;  // samples per second, of all threads: the shares of which gains are predicted
  int rate = 40;      // of others
};

class StackProbe {
 public:
  explicit StackProbe(const StackProbeOptions& options = {});
  ~StackProbe();
  StackProbe(const StackProbe&) = delete;
  StackProbe& operator=(const StackProbe&) = delete;

  // Begins and ends windows. `processes` have their roles; `seconds`: since the beginning. Call it about once a second.
  void look(double seconds, std::span<const ProcessUse> processes);

  // The process of py-spy; 0: none runs. It is a child of this process, but not a part of the program.
  [[nodiscard]] int recorder() const;
  [[nodiscard]] double cpu_s() const;  // that py-spy has used

  // Without the present window.
  [[nodiscard]] PythonStacks so_far() const;
  // Ends the present window.
  [[nodiscard]] PythonStacks finish();
  [[nodiscard]] const StepUse& steps() const;  // found in the windows
  // Of each process that trains, by its id; 64 at most. Only stacks of all threads.
  [[nodiscard]] std::map<int, PythonStacks> by_process() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace unstarve
