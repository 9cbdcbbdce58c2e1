// The program waits for storage, because its files are not in the page cache.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

constexpr double kLongRead = 1 << 20;  // bytes; the time of a longer one is mostly that of its bytes

// That the program has read from devices; all of it would have to be cached.
double storage_of_run(const RunProfile& profile) {
  double bytes = 0;
  for (const ProcessUse& process : profile.processes) bytes += static_cast<double>(process.storage_bytes);
  return bytes;
}

// Prefetching saves the waits of requests, not the time of bytes; a cache saves both from the second epoch on.
Changes changes_of(bool long_reads, bool fits) {
  const std::string cache = fits ? "cache the data in memory or on a local disk" : "cache the data on a local disk";
  if (long_reads) {
    const std::string fewer = "store fewer bytes (unstarve pack --resize), use faster storage, or ";
    return {fewer + cache, "", fewer + "dataset.cache(FILE) on a local disk", "",
            fewer + (fits ? "cache()" : "unstarve train --cache-folder DIR on a local disk")};
  }
  return {
      "read ahead with more concurrent reads, pack small files into shards (unstarve pack), or " + cache,
      "read with more workers (DataLoader(num_workers=N, prefetch_factor=4)), pack small files into shards (unstarve "
      "pack), or " +
          cache,
      "dataset.interleave(..., num_parallel_calls=tf.data.AUTOTUNE) over shards, then dataset.cache(FILE) on a local "
      "disk",
      "grain.ReadOptions(num_threads=64), pack small files into shards (unstarve pack), or " + cache,
      std::string("options(read_ahead=64), pack small files into shards (unstarve pack), or ") +
          (fits ? "cache()" : "unstarve train --cache-folder DIR on a local disk")};
}

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
  const bool long_reads = calls > 0 && read >= kLongRead * calls;
  if (long_reads) finding.evidence += ": the rate of the storage limits, not the number of requests";
  const double limit = static_cast<double>(profile.machine.memory_limit_bytes);
  const bool fits = limit <= 0 || storage_of_run(profile) < limit;
  if (!fits)
    finding.evidence += fmt::format("; the data does not fit into the memory limit of {:.1f} GB", 1e-9 * limit);
  finding.changes = changes_of(long_reads, fits);
  // Of workers a bound: the storage may not deliver more.
  if (long_reads)
    finding.gain = gain_without(waits);  // at most, if a cache or faster storage removes all waits
  else if (sum_of(profile, ProcessRole::kLoader).processes > 0)
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
