#include "unstarve/diagnose/metrics/run_counters.h"

#include <algorithm>

namespace unstarve {
namespace {

using Use = RunCounters::Use;

Use use_of(const ProcessUse& process) {
  Use use{process.cpu_s, process.run_delay_s, static_cast<double>(process.storage_bytes), {}};
  for (std::size_t i = 0; i < RunCounters::kWaits.size(); ++i)
    use.waits_s[i] = process.main_thread.waits.*RunCounters::kWaits[i];
  return use;
}

// Sets each figure of `use` to what `change` makes of it and of that of `other`.
template <class Change>
void combine(Use& use, const Use& other, const Change& change) {
  for (double Use::*const figure : {&Use::cpu_s, &Use::run_delay_s, &Use::storage_bytes})
    use.*figure = change(use.*figure, other.*figure);
  for (std::size_t i = 0; i < use.waits_s.size(); ++i) use.waits_s[i] = change(use.waits_s[i], other.waits_s[i]);
}

void add_to(Use& sum, const Use& other) {
  combine(sum, other, [](double a, double b) { return a + b; });
}
// At least 0.
Use difference(Use now, const Use& before) {
  combine(now, before, [](double a, double b) { return std::max(a - b, 0.0); });
  return now;
}
void raise_to(Use& use, const Use& other) {
  combine(use, other, [](double a, double b) { return std::max(a, b); });
}

}  // namespace

void RunCounters::add(const RunProfile& profile) {
  watch_cpu_s_ = std::max(watch_cpu_s_, profile.watching.cpu_s + profile.watching.stacks_cpu_s);
  steps_ = std::max(steps_, profile.steps.count);
  std::map<Id, Use> processes;
  Use merged;
  for (const ProcessUse& process : profile.processes) {
    Use use = use_of(process);
    if (process.pid == 0) {
      add_to(merged, use);
      continue;
    }
    const Id id{process.pid, process.begin_s};
    Use& sum = roles_[static_cast<std::size_t>(process.role)];
    if (const auto before = processes_.find(id); before != processes_.end()) {
      add_to(sum, difference(use, before->second));
      raise_to(use, before->second);
    } else {
      add_to(sum, use);
    }
    processes.emplace(id, use);
  }
  // Of the processes that have been added up since then, only what they used afterwards is new.
  Use counted = merged_;
  for (const auto& [id, use] : processes_)
    if (!processes.contains(id)) add_to(counted, use);
  add_to(roles_[static_cast<std::size_t>(ProcessRole::kOther)], difference(merged, counted));
  raise_to(merged_, merged);
  processes_ = std::move(processes);
}

}  // namespace unstarve
