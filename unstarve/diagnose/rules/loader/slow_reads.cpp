// Reads from a server or a network file system take long, and too few run at the same time.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

constexpr double kReads = 16;  // at the same time, after the change

// With more reads at the same time, the main thread waits for a part of what it waited; the threads that read also do
// what it did to load a sample (requests, decoding, conversions; without stacks, only system calls are known), on the
// cores that are left. The rest remains. Most is gained if further reads overlap with the training, least if the
// threads get no further core.
GainPrediction gain_of(const RunProfile& profile, double lost) {
  const PythonStacks& stacks = profile.stacks;
  const double decode =
      share_of(stacks, StackThread::kMain, Activity::kDecode) + share_of(stacks, StackThread::kMain, Activity::kPixels);
  const double waits = std::max(lost, reading_share(stacks));
  const double known = stacks.seconds > 0 ? loading_share(stacks) : waits + calls_share(profile);
  const double loading = std::min(std::max(waits + decode, known), 1.0);
  const double works = std::max(loading - waits, 0.0), rest = 1 - std::max(loading, waits);
  const double cores = std::max(0.85 * left_cores(profile), 1.0);
  GainPrediction gain;
  gain.gain = 1 / (waits / kReads + works / std::min(cores, kReads) + rest);
  gain.low = 1 / (waits / kReads + works + rest);
  gain.high = std::max(std::min(gain_without(loading).gain, gain_by_cores(profile).high), gain.gain);
  const GainPrediction sampled = gain_without(waits, steady_seconds(profile));
  gain.low = std::max(gain.low * sampled.low / sampled.gain, 1.0);
  gain.high *= sampled.high / sampled.gain;
  return gain;
}

std::optional<RunFinding> find_slow_reads(const RunProfile& profile) {
  const ReadUse reads = read_use(profile);
  if (!reads.limits()) return std::nullopt;
  RunFinding finding;
  const bool network = reads.sockets > reads.files;
  const RoleSum reader = sum_of(profile, reads.workers ? ProcessRole::kLoader : ProcessRole::kMain);
  finding.title = fmt::format("the loader waits for {}, one read at a time", network ? "a server" : "slow files");
  finding.evidence =
      fmt::format("{} reading {} for {:.0f} % of the time, and on a core for {:.0f} %",
                  reads.workers ? "workers are" : "the main thread is", network ? "sockets" : "files",
                  100 * (reads.files + reads.sockets), 100 * (reads.workers ? reader.busy() : reader.thread_busy()));
  finding.changes = {
      "run 16 or more reads at the same time (threads that prefetch, more workers, asynchronous requests), copy the "
      "data to a local disk, or pack small files into shards (unstarve pack)",
      "run 16 or more reads at the same time: DataLoader(num_workers=N, prefetch_factor=4), or threads in "
      "__getitems__(); copy the data to a local disk, or pack small files into shards (unstarve pack)",
      "run 16 or more reads at the same time: dataset.interleave(..., cycle_length=16, "
      "num_parallel_calls=tf.data.AUTOTUNE); copy the data to a local disk, or pack small files into shards "
      "(unstarve pack)",
      "run 16 or more reads at the same time: grain.ReadOptions(num_threads=64, prefetch_buffer_size=1000); copy the "
      "data to a local disk, or pack small files into shards (unstarve pack)",
      "options(read_ahead=64), cache the data, or pack small files into shards (unstarve pack)"};
  finding.gain = reads.workers ? least_of(gain_by_cores(profile), gain_without(reads.lost, steady_seconds(profile)))
                               : gain_of(profile, reads.lost);
  finding.lost = std::max(lost_by(finding.gain), 0.01);
  return finding;
}

}  // namespace

const Rule kSlowReads{"slow-reads",
                      "workers read from files or sockets for 40 % of the time, and the main thread waits for them for "
                      "10 %; or, without workers, the main thread reads from them for 10 %",
                      find_slow_reads};

}  // namespace unstarve
