// Reads from a server or a network file system take long, and too few run at the same time.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find(const RunProfile& profile) {
  const RoleSum loader = sum_of(profile, ProcessRole::kLoader);
  const double input = input_share(profile);
  // The processes that read.
  const bool workers = loader.processes > 0;
  const ThreadWaits waits = workers ? loader.waits : main_thread_waits(profile);
  const double lived = workers ? loader.lived_s : steady_seconds(profile);
  if (lived <= 0) return std::nullopt;
  const double reads = (waits.network_s + waits.file_s) / lived;
  const double lost = workers ? (input >= 0 ? input : 1 - sum_of(profile, ProcessRole::kMain).thread_busy()) : reads;
  if (reads < (workers ? 0.4 : 0.1) || lost < 0.1) return std::nullopt;
  RunFinding finding;
  const bool network = waits.network_s > waits.file_s;
  finding.title = fmt::format("the loader waits for {}, one read after the other", network ? "a server" : "slow files");
  finding.evidence = fmt::format("{} {} for {:.0f} % of the time in reads of {}, {:.0f} % on a core",
                                 workers ? "workers" : "the main thread", workers ? "are" : "is", 100 * reads,
                                 network ? "sockets" : "files",
                                 100 * (workers ? loader.busy() : sum_of(profile, ProcessRole::kMain).thread_busy()));
  finding.changes = {
      "run more reads at the same time (threads that read ahead, more workers, asynchronous requests), copy the data "
      "to a local disk, or pack small files into shards (unstarve pack)",
      "run more reads at the same time: DataLoader(num_workers=N, prefetch_factor=4), or threads in __getitems__(); "
      "copy the data to a local disk, or pack small files into shards (unstarve pack)",
      "run more reads at the same time: dataset.interleave(..., cycle_length=16, num_parallel_calls=tf.data.AUTOTUNE); "
      "copy the data to a local disk, or pack small files into shards (unstarve pack)",
      "run more reads at the same time: grain.ReadOptions(num_threads=64, prefetch_buffer_size=1000); copy the data to "
      "a local disk, or pack small files into shards (unstarve pack)",
      "options(read_ahead=64), cache the data, or pack small files into shards (unstarve pack)"};
  // More reads at the same time hide all of the waiting. What decodes the samples runs at the same time, too.
  const double decode = workers ? 0
                                : share_of(profile.stacks, StackThread::kMain, Activity::kDecode) +
                                      share_of(profile.stacks, StackThread::kMain, Activity::kPixels);
  finding.gain = least_of(gain_by_cores(profile), gain_without(std::min(lost + decode, 1.0), steady_seconds(profile)));
  finding.lost = std::max(lost_by(finding.gain), 0.01);
  return finding;
}

}  // namespace

extern const Rule kSlowReads;
const Rule kSlowReads{"slow-reads",
                      "workers are in reads of files or sockets for 40 % of the time, and the main thread waits for "
                      "them for 10 %; or, without workers, the main thread is in such reads for 10 %",
                      find};

}  // namespace unstarve
