// One thread of the main process prepares all data, while the main thread waits for it and cores are free.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/profile/libraries.h"
#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

constexpr double kBusy = 0.85, kOthers = 0.15;
constexpr double kLived = 0.5;   // of the time, or more: a program starts its thread after its imports
constexpr double kWorks = 0.03;  // the main thread; one that only waits leaves the training to another thread

// The share of its time that the main thread waits for other threads.
double wait_for_threads(const RunProfile& profile, const ProcessUse& process) {
  if (profile.stacks.seconds > 0) return share_of(profile.stacks, StackThread::kMain, Activity::kThreads);
  return process.main_thread.waits.lock_s / (process.end_s - process.begin_s);
}

double life_of_busiest(const ProcessUse& process) {
  return process.end_s - std::max(process.begin_s, process.busiest_thread_begin_s);
}

bool has_one_busy_thread(const ProcessUse& process) {
  const double lived = process.end_s - process.begin_s, life = life_of_busiest(process);
  const double others_s = process.cpu_s - process.main_thread.cpu_s - process.busiest_thread_s;
  const double main_s = process.main_thread.cpu_s;
  return main_s >= kWorks * lived && main_s < process.busiest_thread_s && life >= kLived * lived &&
         process.busiest_thread_s >= kBusy * life && others_s <= kOthers * lived;
}

std::optional<RunFinding> find_single_producer(const RunProfile& profile) {
  // Without stacks, the busy thread may be one of a framework that computes the network.
  if (profile.stacks.seconds <= 0 && libraries_of(profile).count() > 0) return std::nullopt;
  if (sum_of(profile, ProcessRole::kLoader).processes > 0) return std::nullopt;
  for (const ProcessUse& process : steady_processes(profile)) {
    if (process.role != ProcessRole::kMain || process.end_s <= process.begin_s) continue;
    const double waits = wait_for_threads(profile, process), possible = possible_gain(profile, waits);
    if (waits < 0.1 || possible < 1.1 || !has_one_busy_thread(process)) continue;
    RunFinding finding;
    finding.title = "one thread prepares all data, and the main thread waits for it";
    finding.evidence = fmt::format(
        "one thread is busy for {:.0f} % of its time; the main thread waits for {:.0f} %; {:.1f} of {:.1f} cores are "
        "free",
        100 * process.busiest_thread_s / life_of_busiest(process), 100 * waits, free_cores(profile),
        usable_cores(profile.machine));
    finding.changes = {
        "prepare data in several threads",
        "prepare data in worker processes (DataLoader with num_workers), or in several threads if their work releases "
        "the GIL",
        "map(..., num_parallel_calls=tf.data.AUTOTUNE), and prefetch(tf.data.AUTOTUNE) at the end",
        "prepare data in worker processes (grain.DataLoader with worker_count), or in several threads if their work "
        "releases the GIL",
        "leave options(threads=) out, so that the number of threads is chosen automatically"};
    finding.gain = least_of(gain_by_cores(profile), gain_without(waits, profile.stacks.seconds));
    finding.lost = lost_by(finding.gain);
    return finding;
  }
  return std::nullopt;
}

}  // namespace

const Rule kSingleProducer{
    "single-producer",
    "no worker processes; the main thread waits for other threads for 10 % of the time and "
    "runs for 3 %, one of them, which exists for half of the time, runs for 85 % of its life and the "
    "others together for less than 15 % of the time, and the cores permit a gain of 1.1; found only if no other rule "
    "explains half as much",
    find_single_producer, true};

}  // namespace unstarve
