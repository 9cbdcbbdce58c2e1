// The program waits for storage, because its files are not in the page cache.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_storage_wait(const RunProfile& profile) {
  double storage = 0, read = 0, calls = 0;
  for (const ProcessUse& process : steady_processes(profile)) {
    storage += static_cast<double>(process.storage_bytes);
    read += static_cast<double>(process.read_bytes);
    calls += static_cast<double>(process.read_calls);
  }
  const RoleSum main = sum_of(profile, ProcessRole::kMain);
  const double waits = waits_for_devices(profile);
  if (waits < 0.2 || steady_seconds(profile) <= 0) return std::nullopt;
  if (storage < 1e6 * steady_seconds(profile) || storage < 0.1 * read) return std::nullopt;
  RunFinding finding;
  finding.title = "the program waits for storage";
  finding.evidence = fmt::format(
      "tasks waited for a device for {:.0f} % of the time; the main process is busy for {:.0f} %; storage delivered "
      "{:.1f} MB/s; the mean size of a read is {:.0f} kB",
      100 * profile.machine.io_pressure, 100 * main.thread_busy(), 1e-6 * storage / steady_seconds(profile),
      calls > 0 ? 1e-3 * read / calls : 0);
  finding.changes = {
      "read ahead with more concurrent reads, pack small files into shards (unstarve pack), or cache the data in "
      "memory or on a local disk",
      "read with more workers (DataLoader(num_workers=N, prefetch_factor=4)), pack small files into shards (unstarve "
      "pack), or cache the data in memory or on a local disk",
      "dataset.interleave(..., num_parallel_calls=tf.data.AUTOTUNE) over shards, then dataset.cache(FILE) on a local "
      "disk",
      "grain.ReadOptions(num_threads=64), pack small files into shards (unstarve pack), or cache the data in memory "
      "or on a local disk",
      "options(read_ahead=64), cache(), or pack small files into shards (unstarve pack)"};
  // Of workers a bound: the storage may not deliver more.
  if (sum_of(profile, ProcessRole::kLoader).processes > 0)
    finding.gain.gain = possible_gain(profile, waits);
  else
    finding.gain = gain_by_longer_reads(profile, waits);
  finding.lost = waits;
  return finding;
}

}  // namespace

const Rule kStorageWait{"storage-wait",
                        "tasks waited for a device for 20 % of the time, the main process waited for as long, and "
                        "storage delivered at least 1 MB/s and a tenth of the bytes that were read",
                        find_storage_wait};

}  // namespace unstarve
