#pragma once
// Profiles of runs for tests of rules.
//
// Threads: one.

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve::testing {

inline ProcessUse process(ProcessRole role, double cpu_s) {
  static int number = 100;
  ProcessUse use;
  use.pid = ++number;
  use.parent = 1;
  use.role = role;
  use.end_s = 10;
  use.cpu_s = use.busiest_thread_s = cpu_s;
  return use;
}

// A program that ran for 10 s on 8 cores; `main_s` and `loader_s`: CPU time of its processes.
inline RunProfile run(double main_s, const std::vector<double>& loader_s) {
  RunProfile profile;
  profile.watching.seconds = 10;
  profile.machine.affinity_cores = 8;
  profile.processes.push_back(process(ProcessRole::kMain, main_s));
  for (const double cpu_s : loader_s) profile.processes.push_back(process(ProcessRole::kLoader, cpu_s));
  for (const ProcessUse& use : profile.processes) profile.machine.busy_cores += use.cpu_s / 10;
  return profile;
}

inline void delay_all(RunProfile& profile, double run_delay_s) {
  for (ProcessUse& use : profile.processes) use.run_delay_s = run_delay_s;
}

inline std::set<std::string> found(const RunProfile& profile) {
  std::set<std::string> names;
  double lost = 1;
  bool ends_run = true;
  for (const RunFinding& finding : findings_of(profile)) {
    CHECK_FALSE(finding.title.empty());
    CHECK_FALSE(finding.evidence.empty());
    CHECK_FALSE(finding.change.empty());
    CHECK(finding.lost >= 0);
    CHECK(ends_run >= finding.ends_run);        // first what ends the run
    CHECK((finding.lost <= lost || ends_run));  // then most lost time first
    CHECK((finding.gain.gain == 0 || finding.gain.gain >= 1));
    CHECK((!finding.gain.known() || (finding.gain.low <= finding.gain.gain && finding.gain.gain <= finding.gain.high)));
    lost = finding.lost;
    ends_run = finding.ends_run;
    names.insert(finding.rule);
  }
  return names;
}

using Names = std::set<std::string>;

// Stacks of 10 s: {thread, function, file, seconds, seconds with the interpreter's lock}
struct Code {
  StackThread thread;
  const char* function;
  const char* file;
  double seconds, interpreter_s;
};
inline void record(RunProfile& profile, const std::vector<Code>& codes, int loaders = 0) {
  PythonStacks& stacks = profile.stacks;
  stacks = {};
  stacks.seconds = stacks.interpreter_s = 10;
  stacks.processes = loaders;
  stacks.lines.push_back({"<module>", "/home/me/train.py", 30});
  for (const Code& code : codes) {
    stacks.lines.push_back({code.function, code.file, 5});
    stacks.stacks.push_back(
        {code.thread, {0, static_cast<int>(stacks.lines.size()) - 1}, code.seconds, code.interpreter_s, 9});
  }
}
inline constexpr const char *kLoaderFile = "torch/utils/data/dataloader.py", *kOwnFile = "/home/me/train.py";
inline constexpr StackThread kMainThread = StackThread::kMain, kHelperThread = StackThread::kHelper,
                             kLoaderThread = StackThread::kLoader;

}  // namespace unstarve::testing
