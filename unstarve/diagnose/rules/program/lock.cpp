// Threads that prepare data wait for each other: for a lock in the program's own code.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

constexpr double kLocked = 0.7;  // threads, on average

std::optional<RunFinding> finding_of(const RunProfile& profile, const std::string& title, double locked, double waits) {
  const double sampled_s = profile.stacks.seconds > 0 ? profile.stacks.seconds : steady_seconds(profile);
  GainPrediction gain = least_of(gain_by_cores(profile), gain_without(waits, sampled_s));
  gain.gain = std::min(gain.gain, 1 + locked);
  gain.low = std::min(gain.low, gain.gain);
  gain.high = std::min(gain.high, 1 + locked);
  if (locked < kLocked || waits < 0.1 || possible_gain(profile, waits) < 1.1) return std::nullopt;
  RunFinding finding;
  finding.title = title;
  finding.evidence = fmt::format(
      "{:.1f} threads wait for a lock at the same time, on average; the main thread waits for {:.0f} % of the time; "
      "{:.1f} of {:.1f} cores are free",
      locked, 100 * waits, free_cores(profile), usable_cores(profile.machine));
  finding.change = "hold the lock only while shared data is changed: read, decode and augment outside of it";
  finding.gain = gain;
  finding.lost = lost_by(gain);
  return finding;
}

// Threads of this kind that wait for a lock, on average. 0 if fewer than kLocked are in Python but neither run nor wait
// in its own queues: threads that feed queues wait for locks all the time.
double locked_threads(const RunProfile& profile, StackThread thread) {
  const bool helpers = thread == StackThread::kHelper;
  double lock_s = 0, runnable_s = 0, lived_s = 0;
  for (const ProcessUse& process : steady_processes(profile)) {
    if (process.role != (helpers ? ProcessRole::kMain : ProcessRole::kLoader)) continue;
    lived_s = std::max(lived_s, process.end_s - process.begin_s);
    runnable_s += process.cpu_s + process.run_delay_s;
    for (const ThreadUse& group : process.threads) lock_s += group.waits.lock_s;
    if (!helpers) continue;
    lock_s -= process.main_thread.waits.lock_s;
    runnable_s -= process.main_thread.cpu_s + process.main_thread.run_delay_s;
  }
  if (lived_s <= 0) return 0;
  const double blocked = working_threads(profile.stacks, thread) - runnable_s / lived_s;
  return blocked >= kLocked ? lock_s / lived_s : 0;
}

// The line at which threads wait.
std::optional<RunFinding> find_by_stacks(const RunProfile& profile) {
  for (const StackThread thread : {StackThread::kHelper, StackThread::kLoader}) {
    const HotLine line = hottest_line(profile.stacks, thread, Activity::kOther);
    const double locked = std::min(line.share, locked_threads(profile, thread));
    const double waits = share_of(profile.stacks, StackThread::kMain, Activity::kInput) +
                         share_of(profile.stacks, StackThread::kMain, Activity::kThreads);
    if (auto finding = finding_of(profile, fmt::format("threads wait for each other at {}", to_string(line.line)),
                                  locked, std::min(waits, 1.0)))
      return finding;
  }
  return std::nullopt;
}

// In programs without Python: the main thread waits, and of several threads only about one runs at a time.
std::optional<RunFinding> find_by_waits(const RunProfile& profile) {
  for (const ProcessUse& process : steady_processes(profile)) {
    const double lived = process.end_s - process.begin_s;
    if (process.role != ProcessRole::kMain || lived <= 0) continue;
    // For data: by a condition. libgomp waits for its operator threads as for a mutex.
    const double waits = (process.main_thread.waits.lock_s - process.main_thread.waits.mutex_s) / lived;
    double busy_s = process.cpu_s + process.run_delay_s - process.main_thread.cpu_s - process.main_thread.run_delay_s;
    double mutex_s = -process.main_thread.waits.mutex_s;  // conditions are also those of idle threads
    int threads = -1;
    for (const ThreadUse& group : process.threads) {
      mutex_s += group.waits.mutex_s;
      threads += group.threads;
    }
    if (threads < 2 || busy_s < 0.6 * lived || busy_s > 1.3 * lived) continue;
    if (auto finding = finding_of(profile, fmt::format("of {} threads only about one runs at a time", threads),
                                  mutex_s / lived, waits))
      return finding;
  }
  return std::nullopt;
}

std::optional<RunFinding> find_lock(const RunProfile& profile) {
  return profile.stacks.seconds > 0 ? find_by_stacks(profile) : find_by_waits(profile);
}

}  // namespace

const Rule kLock{"lock",
                 "the main thread waits for 10 % of the time, the cores permit a gain of 1.1, and on average 0.7 other "
                 "threads wait for locks: at the same line of the program's own files, or, without stacks, for a mutex "
                 "of C or C++, and about one of them runs at a time",
                 find_lock};

}  // namespace unstarve
