#pragma once
// Watches a process and those below it from a thread of its own, and makes the RunProfile.
//
//   20 ms to 10 s apart    counters of the tree's threads
//   1 s to 60 s apart      new processes, counters of the machine, timeline
//   1 s apart              whether a window of Python stacks begins or ends, see StackProbe
//   in windows of 8 s      counters of the main thread, from another thread, see StepProbe
//   in windows of 5 steps  states of the important threads, from another thread, see ThreadProbe
//   0.1 to 10 s apart      GPUs, from another thread, see GpuProbe
//   5 to 600 s apart       kernels and NVTX ranges, if the profile is published; and at the end. See kernel_logs.h
//
// Cost:    the intervals are chosen so that the work takes less than `cpu_share` of one core each, and so are the
//          distances of windows in which stacks are recorded. Windows of StepProbe and of ThreadProbe take less than
//          a half of it each.
// Memory:  limited: timelines have at most 600 points, and two points become one when they are full; see TaskTree.
// Threads: one caller. Failure: Error(kInternal) by finish() if watching failed; nothing ends the process that is
//          watched.

#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>

#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

// The profile so far, for other threads.
class LatestProfile {
 public:
  void set(std::shared_ptr<const RunProfile> profile) {
    const std::lock_guard lock(mutex_);
    profile_ = std::move(profile);
  }
  [[nodiscard]] std::shared_ptr<const RunProfile> get() const {  // null: none yet
    const std::lock_guard lock(mutex_);
    return profile_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const RunProfile> profile_;
};

struct SamplerOptions {
  int adopter = 0;                          // TaskTreeOptions
  int guard = 0;                            // TaskTreeOptions
  std::filesystem::path steps{};            // folder of logs, see step_log.h and kernel_logs.h; empty: none
  double cpu_share = 0.003;                 // of one core
  std::shared_ptr<LatestProfile> latest{};  // set whenever new processes are searched; null: not published
};

class Sampler {
 public:
  explicit Sampler(int process, const SamplerOptions& options = {});
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Takes a last look and stops. Everything but the command and its exit code is set. Call it once, before the process
  // is waited for: then its final times are still known.
  [[nodiscard]] RunProfile finish();

  // A child of this process that records stacks; 0: none. The caller must not wait for it. Any thread.
  [[nodiscard]] int recorder() const;

 private:
  class Thread;
  std::unique_ptr<Thread> thread_;
};

}  // namespace unstarve
