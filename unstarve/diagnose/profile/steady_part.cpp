#include "unstarve/diagnose/profile/steady_part.h"

#include <algorithm>
#include <iterator>

namespace unstarve {
namespace {

constexpr double kFirstSnapshot = 1;  // seconds
constexpr double kDistance = 1.1;     // of two snapshots: their ratio

template <class Number>
void subtract(Number& now, Number before) {
  now = std::max(now - before, Number());
}

void subtract(ThreadUse& now, const ThreadUse& before) {
  subtract(now.cpu_s, before.cpu_s);
  subtract(now.run_delay_s, before.run_delay_s);
  add_waits(now.waits, before.waits, -1);
}

// The busiest thread may be another one than before. Of threads that have ended in between, the least is known that one
// of them has used since.
void subtract_busiest_thread(ProcessUse& now, const ProcessUse& before) {
  subtract(now.busiest_thread_s, before.busiest_thread_s);
  for (const auto& [id, life] : now.lives) {
    const auto same = before.lives.find(id);
    const double used = life.cpu_s - (same != before.lives.end() ? same->second.cpu_s : 0);
    if (used < now.busiest_thread_s) continue;
    now.busiest_thread_s = used;
    now.busiest_thread_begin_s = life.begin_s;
  }
}

void subtract(ProcessUse& now, const ProcessUse& before, double since_s) {
  subtract_busiest_thread(now, before);
  now.begin_s = std::max(now.begin_s, since_s);
  for (double ProcessUse::*const time :
       {&ProcessUse::cpu_s, &ProcessUse::run_delay_s, &ProcessUse::main_system_s, &ProcessUse::ended_children_s})
    subtract(now.*time, before.*time);
  for (std::int64_t ProcessUse::*const count :
       {&ProcessUse::minor_faults, &ProcessUse::major_faults, &ProcessUse::read_calls, &ProcessUse::read_bytes,
        &ProcessUse::storage_bytes, &ProcessUse::written_bytes})
    subtract(now.*count, before.*count);
  for (std::int64_t FileSamples::*const count :
       {&FileSamples::samples, &FileSamples::changed, &FileSamples::small, &FileSamples::small_bytes})
    subtract(now.file_samples.*count, before.file_samples.*count);
  subtract(now.main_thread, before.main_thread);
  for (ThreadUse& thread : now.threads) {
    const auto same = std::ranges::find(before.threads, thread.name, &ThreadUse::name);
    if (same != before.threads.end()) subtract(thread, *same);
  }
}

bool is_same(const ProcessUse& a, const ProcessUse& b) {
  return a.pid == b.pid && (a.pid != 0 ? a.begin_s == b.begin_s : a.name == b.name && a.role == b.role);
}

}  // namespace

void SteadyPart::add(double seconds, const std::vector<ProcessUse>& processes) {
  if (seconds < (snapshots_.empty() ? kFirstSnapshot : kDistance * snapshots_.back().seconds)) return;
  snapshots_.push_back({seconds, processes});
  while (snapshots_.size() > 1 && snapshots_[1].seconds <= seconds / 2) snapshots_.erase(snapshots_.begin());
}

void SteadyPart::set(RunProfile& profile, double seconds) const {
  const auto later = std::ranges::find_if(snapshots_, [&](const Snapshot& one) { return one.seconds > seconds / 2; });
  const bool has_one = later != snapshots_.begin();
  profile.steady_from_s = has_one ? std::prev(later)->seconds : 0;
  profile.steady.clear();
  if (has_one) profile.steady = use_since(profile.processes, std::prev(later)->processes, profile.steady_from_s);
}

std::vector<ProcessUse> use_since(const std::vector<ProcessUse>& now, const std::vector<ProcessUse>& before,
                                  double since_s) {
  std::vector<ProcessUse> result;
  for (const ProcessUse& process : now) {
    if (process.ended && process.pid != 0 && process.end_s <= since_s) continue;
    result.push_back(process);
    const auto same = std::ranges::find_if(before, [&](const ProcessUse& other) { return is_same(process, other); });
    if (same != before.end()) subtract(result.back(), *same, since_s);
  }
  return result;
}

}  // namespace unstarve
