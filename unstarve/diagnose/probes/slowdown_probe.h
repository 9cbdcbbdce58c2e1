#pragma once
// Confirms a bottleneck without a model: slows one group of processes by a known amount and measures how much slower
// the program becomes (after Coz, Curtsinger and Berger, SOSP 2015).
//
//   |  normal    |  loader slowed  |  normal    |  main slowed  |  normal    |  loader slowed  | ...   phases
//
// A process is slowed by stopping it (SIGSTOP) for 10 ms of every 50 ms. Progress is counted in steps of un.step(), or
// in bytes that the processes read if the program does not mark its steps.
//
//   sensitivity = (1 - progress slowed / progress as it is) / slowdown    1: the group limits; 0: it has time to spare
//
// Safety:  a guard process continues what is stopped if this process ends in any way. It must be made while this
//          process has one thread, and before processes that are adopted count as those of the program.
// Cost:    the program loses up to 20 % in half of the phases, for at most kMostPairs pairs of each group.
// Threads: one caller; the work is done in a thread of its own. Failure: never throws except std::bad_alloc; `problem`
//          of the result says why there are no figures.

#include <filesystem>
#include <memory>

#include "unstarve/diagnose/probes/sampler.h"
#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

inline constexpr double kSlowdown = 0.2;
inline constexpr int kFewestPairs = 4, kMostPairs = 12;

class SlowdownGuard {
 public:
  SlowdownGuard();
  ~SlowdownGuard();  // continues all processes and ends the guard
  SlowdownGuard(const SlowdownGuard&) = delete;
  SlowdownGuard& operator=(const SlowdownGuard&) = delete;

  [[nodiscard]] int process() const;  // 0: it could not be started
  [[nodiscard]] bool runs() const;    // false: it could not be started, or was killed; stop() then does nothing
  void stop(int pid);
  void resume_all();

 private:
  class State;
  std::unique_ptr<State> state_;
};

struct SlowdownProbeOptions {
  std::shared_ptr<LatestProfile> latest;  // names the processes
  std::filesystem::path steps;            // folder of step logs; empty: none
  double begin_s = 14;                    // after the stacks of a program that has just been started
  double phase_s = 1;                     // at least
};

class SlowdownProbe {
 public:
  SlowdownProbe(SlowdownGuard& guard, SlowdownProbeOptions options);
  ~SlowdownProbe();
  SlowdownProbe(const SlowdownProbe&) = delete;
  SlowdownProbe& operator=(const SlowdownProbe&) = delete;

  // Ends the phases; the processes run again.
  [[nodiscard]] SlowdownChecks finish();

 private:
  class Thread;
  std::unique_ptr<Thread> thread_;
};

}  // namespace unstarve
