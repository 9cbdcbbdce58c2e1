// The data consists of many small files, each of which waits for its own request: packed, they are read in long reads.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

constexpr std::int64_t kFewestSamples = 10;
constexpr double kSmall = 0.8;    // of the samples
constexpr double kChanged = 0.5;  // a large file is read by several calls

std::optional<RunFinding> find_small_files(const RunProfile& profile) {
  const ReadUse reads = read_use(profile);
  if (!reads.limits() || reads.sockets > reads.files) return std::nullopt;
  FileSamples files;
  double storage = 0;
  for (const ProcessUse& process : steady_processes(profile)) {
    if (process.role != (reads.workers ? ProcessRole::kLoader : ProcessRole::kMain)) continue;
    add_file_samples(files, process.file_samples);
    storage += static_cast<double>(process.storage_bytes);
  }
  const auto samples = static_cast<double>(files.samples), small = static_cast<double>(files.small);
  const auto changed = static_cast<double>(files.changed);
  if (files.samples < kFewestSamples || small < kSmall * samples || changed < kChanged * samples) return std::nullopt;
  RunFinding finding;
  finding.title = "the data consists of many small files, and each file needs its own requests";
  finding.evidence = fmt::format(
      "{} reading files for {:.0f} % of the time; {:.0f} % of {} samples are in another file than the previous sample; "
      "the mean size of small files is {:.0f} kB; storage delivers {:.1f} MB/s",
      reads.workers ? "workers are" : "the main thread is", 100 * reads.files, 100 * changed / samples, files.samples,
      1e-3 * static_cast<double>(files.small_bytes) / small, 1e-6 * storage / steady_seconds(profile));
  finding.changes = {"pack the files into shards (unstarve pack) and read the shards in order",
                     "pack the files into shards (unstarve pack, or webdataset.ShardWriter), and read the shards in "
                     "order in an IterableDataset",
                     "pack the files into shards of TFRecords (tf.io.TFRecordWriter), and read them with "
                     "tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)",
                     "pack the files into shards of ArrayRecord, and read them with "
                     "grain.ArrayRecordDataSource(files); or run unstarve pack and read with unstarve.open()",
                     "unstarve pack FOLDER, then open the packed file"};
  if (reads.workers) {  // a bound: the storage may not deliver the bytes faster
    finding.gain.gain = possible_gain(profile, reads.lost);
    finding.lost = std::max(lost_by(finding.gain), 0.01);
    return finding;
  }
  // Not less than storage-wait and slow-reads, which see the same waits without their cause.
  const double waits = std::max(reads.lost, waits_for_devices(profile)), calls = calls_share(profile);
  finding.gain = gain_by_longer_reads(profile, waits);
  finding.lost = std::clamp(waits + calls, 0.01, 1.0);
  return finding;
}

}  // namespace

const Rule kSmallFiles{
    "small-files",
    "the conditions of slow-reads apply to files; and of 10 or more samples of threads that read a file, 80 % are in a "
    "file of at most 256 KiB, and 50 % in another file than the previous sample of the thread",
    find_small_files};

}  // namespace unstarve
