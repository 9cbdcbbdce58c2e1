#include "unstarve/diagnose/ranks/rank_uses.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "unstarve/diagnose/profile/stack_shares.h"

namespace unstarve {
namespace {

RankHost host_of(const RunProfile& profile, const std::string& name) {
  RankHost host;
  host.name = name;
  host.usable_cores = usable_cores(profile.machine);
  host.foreign_cores = foreign_cores(profile);
  host.throttled_share = profile.machine.throttled_share;
  host.io_pressure = profile.machine.io_pressure;
  host.received_bytes_per_s = profile.machine.received_bytes_per_s;
  return host;
}

RankUse use_of_process(const ProcessUse& process, double seconds) {
  RankUse rank;
  rank.pid = process.pid;
  rank.seconds = seconds;
  const ThreadUse& main = process.main_thread;
  rank.main_cores = main.cpu_s / seconds;
  rank.other_cores = std::max(process.cpu_s - main.cpu_s, 0.0) / seconds;
  rank.run_delay = main.run_delay_s / seconds;
  rank.lock_wait = main.waits.lock_s / seconds;
  rank.file_wait = (main.waits.file_s + main.waits.flush_s) / seconds;
  rank.network_wait = main.waits.network_s / seconds;
  rank.sleep_wait = main.waits.sleep_s / seconds;
  rank.major_faults_per_s = static_cast<double>(process.major_faults) / seconds;
  rank.storage_bytes_per_s = static_cast<double>(process.storage_bytes) / seconds;
  return rank;
}

}  // namespace

RankStacks rank_stacks(const PythonStacks& stacks) {
  RankStacks result;
  result.seconds = stacks.seconds;
  const auto share = [&](Activity activity) { return std::min(share_of(stacks, StackThread::kMain, activity), 1.0); };
  result.input = std::min(share(Activity::kInput) + share(Activity::kThreads), 1.0);
  result.exchange = share(Activity::kExchange);
  result.checkpoint = share(Activity::kCheckpoint);
  result.logging = share(Activity::kLogging);
  result.compilation = share(Activity::kCompile);
  const HotLine hottest = hottest_line(stacks, StackThread::kMain, Activity::kOther);
  if (hottest.share > 0) {
    result.hottest = to_string(hottest.line);
    result.hottest_share = std::min(hottest.share, 1.0);
  }
  return result;
}

std::vector<RankUse> rank_uses(const RunProfile& profile, const std::string& host, double begin_unix_s,
                               const std::map<int, RankFacts>& facts) {
  const RankHost machine = host_of(profile, host);
  std::vector<RankUse> ranks;
  for (const ProcessUse& process : profile.processes) {
    const double seconds = process.end_s - process.begin_s;
    if (process.role != ProcessRole::kMain || seconds <= 0 || seconds < profile.watching.seconds / 10) continue;
    RankUse rank = use_of_process(process, seconds);
    rank.begin_unix_s = begin_unix_s;
    rank.host = machine;
    for (const ProcessUse& loader : profile.processes) {
      if (loader.role != ProcessRole::kLoader || loader.parent != process.pid) continue;
      ++rank.loaders;
      rank.storage_bytes_per_s += static_cast<double>(loader.storage_bytes) / seconds;
    }
    if (const auto known = facts.find(process.pid); known != facts.end()) {
      rank.numbers = known->second.numbers;
      rank.stacks = rank_stacks(known->second.stacks);
      rank.steps = known->second.steps;
    }
    ranks.push_back(std::move(rank));
  }
  sort_ranks(ranks);
  return ranks;
}

void sort_ranks(std::vector<RankUse>& ranks) {
  std::ranges::sort(ranks, [](const RankUse& a, const RankUse& b) {
    return std::tie(a.numbers.global, a.host.name, a.pid) < std::tie(b.numbers.global, b.host.name, b.pid);
  });
}

std::string name_of(const RankUse& rank) {
  const std::string name =
      rank.numbers.global >= 0 ? fmt::format("rank {}", rank.numbers.global) : fmt::format("process {}", rank.pid);
  return rank.host.name.empty() ? name : name + " on " + rank.host.name;
}

}  // namespace unstarve
