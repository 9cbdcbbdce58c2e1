#pragma once
// All probes of a watched run, and the RunProfile of what they have seen. When they look is decided by Sampler.
//
// Ownership: owns the probes, of which some have a thread. Threads: one at a time.
// Failure:   as that of the probes; only exceptions of the standard library are thrown.

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <vector>

#include "unstarve/diagnose/probes/gpu_probe.h"
#include "unstarve/diagnose/probes/machine_probe.h"
#include "unstarve/diagnose/probes/process_ranks.h"
#include "unstarve/diagnose/probes/stack_probe.h"
#include "unstarve/diagnose/probes/step_probe.h"
#include "unstarve/diagnose/probes/task_tree.h"
#include "unstarve/diagnose/probes/thread_probe.h"
#include "unstarve/diagnose/probes/timeline_recorder.h"
#include "unstarve/diagnose/profile/steady_part.h"
#include "unstarve/diagnose/ranks/rank_uses.h"
#include "unstarve/diagnose/traces/kernel_logs.h"

namespace unstarve {

struct RunProbesOptions {
  int adopter = 0;              // TaskTreeOptions
  int guard = 0;                // TaskTreeOptions
  std::filesystem::path steps;  // folder of logs, see step_log.h and kernel_logs.h; empty: none
  double cpu_share = 0.003;     // of one core, of the probe of GPUs
};

// What the caller of the probes has used.
struct ProbingCost {
  std::int64_t looks = 0;
  double cpu_s = 0;
};

class RunProbes {
 public:
  RunProbes(int process, const RunProbesOptions& options);

  [[nodiscard]] double now() const;  // seconds since the beginning, as all `seconds` below
  // Counters of the threads.
  void look(double seconds) { tree_.look(seconds); }
  // New processes, counters of the machine and the timeline. The processes of the program, with their roles.
  [[nodiscard]] std::vector<ProcessUse> find(double seconds);
  // Begins and ends windows of stacks.
  void record_stacks(double seconds, std::span<const ProcessUse> processes);
  [[nodiscard]] int recorder() const { return stacks_.recorder(); }  // StackProbe::recorder()
  // Begins and ends windows of the main thread, and of the important threads.
  void record_threads(double seconds, std::span<const ProcessUse> processes);
  // Reads the logs of kernels and ranges. One may have 32 MB.
  void read_kernels();

  // `processes`: of the latest find().
  [[nodiscard]] RunProfile profile(double seconds, std::vector<ProcessUse> processes, const ProbingCost& cost) const;
  // A last look; all windows end. Call it once, and nothing afterwards.
  [[nodiscard]] RunProfile finish(ProbingCost cost);

 private:
  [[nodiscard]] std::vector<ProcessUse> with_roles() const;
  void add_to_timeline(double seconds, std::span<const ProcessUse> processes);
  [[nodiscard]] RunProfile profile_of(double seconds, std::vector<ProcessUse> processes, PythonStacks stacks,
                                      const ProbingCost& cost) const;
  [[nodiscard]] ThreadProbe::MarksOf marks_of_steps() const;
  [[nodiscard]] double step_s() const;
  [[nodiscard]] double first_step_s() const;
  [[nodiscard]] std::map<int, RankFacts> rank_facts() const;
  [[nodiscard]] bool periods_are_allowed() const;

  const RunProbesOptions options_;
  const double begin_;  // of CLOCK_MONOTONIC
  TaskTree tree_;
  MachineProbe machine_;
  GpuProbe gpus_;
  TimelineRecorder timeline_;
  SteadyPart steady_;
  StackProbe stacks_;
  bool stacks_recorded_ = false;  // since the latest record_threads()
  StepProbe periods_;
  ThreadProbe threads_;
  RecordedKernels kernels_;  // when they were last read
  ProcessRanks ranks_;
};

}  // namespace unstarve
