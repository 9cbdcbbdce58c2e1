// One worker works all the time while others wait for it: batches are delivered in order.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

double busy(const ProcessUse& process) { return process.cpu_s / std::max(process.end_s - process.begin_s, 0.01); }

// The workers that were started together with the busiest one, least busy first.
std::vector<const ProcessUse*> group_of_busiest(const RunProfile& profile) {
  const ProcessUse* busiest = nullptr;
  const auto is_worker = [&](const ProcessUse& process) {
    return process.role == ProcessRole::kLoader && process.end_s - process.begin_s >= steady_seconds(profile) / 5;
  };
  for (const ProcessUse& process : steady_processes(profile))
    if (is_worker(process) && (busiest == nullptr || busy(process) > busy(*busiest))) busiest = &process;
  std::vector<const ProcessUse*> group;
  for (const ProcessUse& process : steady_processes(profile)) {
    if (is_worker(process) && process.parent == busiest->parent && std::abs(process.begin_s - busiest->begin_s) < 1)
      group.push_back(&process);
  }
  std::ranges::sort(group, [](const auto* a, const auto* b) { return busy(*a) < busy(*b); });
  return group;
}

std::optional<RunFinding> find_uneven_workers(const RunProfile& profile) {
  const RoleSum main = sum_of(profile, ProcessRole::kMain);
  const std::vector<const ProcessUse*> group = group_of_busiest(profile);
  if (group.size() < 2 || main.processes == 0 || main.thread_busy() >= 0.8) return std::nullopt;
  const double most = busy(*group.back()), median = busy(*group[(group.size() - 1) / 2]);
  // Workers that never work belong to another loader.
  if (most < 0.9 || median > 0.5 * most || busy(*group.front()) < 0.02) return std::nullopt;
  double mean = 0;
  for (const ProcessUse* worker : group) mean += busy(*worker) / static_cast<double>(group.size());
  RunFinding finding;
  finding.title = "one worker of the loader has more work than the others, which wait for it";
  finding.evidence = fmt::format(
      "the busiest of {} workers is busy for {:.0f} % of the time, half of them for at most "
      "{:.0f} %, the main process for {:.0f} %",
      group.size(), 100 * most, 100 * median, 100 * main.thread_busy());
  finding.changes = {
      "distribute the work evenly: shards of equal size, smaller ones, or a loader whose workers share all samples",
      "use a Dataset with __getitem__, whose samples are distributed evenly, or an IterableDataset with many shards of "
      "equal size per worker",
      "many shards of equal size, and dataset.interleave(..., num_parallel_calls=tf.data.AUTOTUNE, "
      "deterministic=False)",
      "many shards of equal size, or a source with random access (grain.RandomAccessDataSource)",
      "functions of map() must take similar time; operations of unstarve share all samples"};
  finding.gain = gain_by_more(std::min(most / mean, 1 / std::max(main.thread_busy(), 0.01)) - 1);
  finding.lost = lost_by(finding.gain);
  return finding;
}

}  // namespace

const Rule kUnevenWorkers{"uneven-workers",
                          "of workers that were started together, the busiest is busy for 90 % of the time and half of "
                          "them for less than half of that; no thread of the main process runs for 80 %",
                          find_uneven_workers};

}  // namespace unstarve
