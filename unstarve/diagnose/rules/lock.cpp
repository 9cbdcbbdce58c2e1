// Threads that prepare data wait for each other: for a lock in the program's own code.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find(const RunProfile& profile) {
  const PythonStacks& stacks = profile.stacks;
  double lock_s = 0, lived_s = 0;
  for (const ProcessUse& process : profile.processes) {
    if (process.role == ProcessRole::kOther) continue;
    lived_s = std::max(lived_s, process.end_s - process.begin_s);
    for (const ThreadUse& thread : process.threads) lock_s += thread.waits.lock_s;
    lock_s -= process.main_thread.waits.lock_s;
  }
  if (lived_s <= 0) return std::nullopt;
  const HotLine helper = hottest_line(stacks, StackThread::kHelper, Activity::kOther);
  const HotLine loader = hottest_line(stacks, StackThread::kLoader, Activity::kOther);
  const HotLine& line = helper.share >= loader.share ? helper : loader;
  const double locked = std::min(line.share, lock_s / lived_s);  // threads that wait there
  const double waits = input_share(profile);
  if (locked < 0.7 || waits < 0.1) return std::nullopt;
  const double gain = std::min({gain_by_cores(profile), gain_without(waits), 1 + locked});
  if (gain < 1.1) return std::nullopt;
  RunFinding finding;
  finding.title = fmt::format("threads wait for each other at {}", to_string(line.line));
  finding.evidence = fmt::format(
      "{:.1f} threads wait there for a lock at the same time, on average; the main thread waits for {:.0f} % of the "
      "time; {:.1f} of {:.1f} cores are free",
      locked, 100 * waits, free_cores(profile), usable_cores(profile.machine));
  finding.change = "hold the lock only while shared data is changed: read, decode and augment outside of it";
  finding.gain = gain;
  finding.lost = 1 - 1 / gain;
  return finding;
}

}  // namespace

extern const Rule kLock;
const Rule kLock{"lock",
                 "threads that are not the main thread wait for locks, 0.7 of them at the same time at one line of the "
                 "program's own files; the main thread waits for batches for 10 %, and the cores permit a gain of 1.1",
                 find};

}  // namespace unstarve
