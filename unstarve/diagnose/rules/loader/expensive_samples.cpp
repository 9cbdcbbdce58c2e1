// The workers of a loader use all cores, and the main process still waits for them: more workers would not help. Or the
// main thread loads images itself, and no core is free.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/own_loop.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {

namespace {

// unstarve.open() needs 1 / kFaster of the CPU time of Pillow for the same samples: measured, imagenet-train/pillow of
// docs/benchmarks.md.
constexpr double kFaster = 6.77;

// `images`: the share of the loader's time in which it decodes and changes images; 0: unknown, and
// the main process cannot become faster than without waiting.
GainPrediction gain_of(const RunProfile& profile, double input, double images) {
  const UsedLibraries used = libraries_of(profile);
  if (images < 0.05 || used.unstarve) return gain_without(input);
  return least_of(gain_without(input, profile.stacks.seconds),
                  gain_by_less_work(profile, 1 - (1 - 1 / kFaster) * images));
}

Changes less_work() {
  return {
      "use a loader that needs less CPU time per sample (unstarve.open()), store smaller images once (unstarve pack "
      "--resize), or use more cores",
      "replace the DataLoader with unstarve.open(...).to_torch(), which needs less CPU time per sample, store smaller "
      "images once (unstarve pack --resize), or use more cores",
      "decode only the crop, at reduced scale (tf.image.decode_and_crop_jpeg(..., ratio=2)), store smaller images once "
      "(unstarve pack --resize), or use more cores",
      "load with unstarve.open(...).to_jax(), which needs less CPU time per sample, store smaller images once "
      "(unstarve pack --resize), or use more cores",
      "store smaller images once (unstarve pack --resize), let unstarve tune try approximate passes, or use more "
      "cores"};
}

// The main thread loads its images itself, and no further core is free for that.
std::optional<RunFinding> find_in_main_thread(const RunProfile& profile) {
  const RoleSum main = sum_of(profile, ProcessRole::kMain);
  double images = 0;
  for (const Activity activity : {Activity::kDecode, Activity::kPixels})
    images += share_within_input(profile.stacks, activity) + own_share(profile, activity);
  const double input = input_share(profile);
  images = std::min(images, input);
  if (images < 0.1 || free_cores(profile) >= 0.5 * main.processes) return std::nullopt;
  if (kSerialInput.find(profile) || kLargeImages.find(profile) || kSlowReads.find(profile)) return std::nullopt;
  RunFinding finding;
  finding.title = "the main thread loads its images itself, and no further core is free";
  finding.evidence = fmt::format(
      "the main thread prepares batches for {:.0f} % of the time: it decodes and changes images for {:.0f} %; {:.1f} "
      "of {:.1f} cores are free",
      100 * input, 100 * images, free_cores(profile), usable_cores(profile.machine));
  finding.changes = less_work();
  if (own_loading_share(profile) > 0)
    finding.changes.pytorch =
        "load with unstarve.open(...).to_torch(), which needs less CPU time per sample, store smaller images once "
        "(unstarve pack --resize), or use more cores";
  finding.gain = gain_without((1 - 1 / kFaster) * images, profile.stacks.seconds);
  finding.lost = lost_by(finding.gain);
  return finding;
}

std::optional<RunFinding> find_expensive_samples(const RunProfile& profile) {
  const RoleSum loader = sum_of(profile, ProcessRole::kLoader), main = sum_of(profile, ProcessRole::kMain);
  const double cores = usable_cores(profile.machine), input = input_share(profile);
  if (loader.processes == 0) return find_in_main_thread(profile);
  if (!loader_limits(profile) || steady_seconds(profile) <= 0) return std::nullopt;
  const double used = loader.cpu_s / steady_seconds(profile);
  if (free_cores(profile) >= 0.5 * main.processes || taken_share(profile) >= 0.2) return std::nullopt;
  if (input < 0.1 || used < 0.4 * cores) return std::nullopt;
  if (kLargeImages.find(profile) || kSpinningThreads.find(profile) || kManyWorkers.find(profile)) return std::nullopt;
  RunFinding finding;
  finding.title = "the loader needs all cores, and the main process waits for it";
  finding.evidence =
      fmt::format("the main process waits for batches for {:.0f} % of the time; the loader uses {:.1f} of {:.1f} cores",
                  100 * input, used, cores);
  const WorkerShares work = worker_shares(profile.stacks);
  if (const std::string does = to_string(work); !does.empty()) finding.evidence += ", " + does;
  const double images = std::min(work.decode + work.pixels, 1.0);
  finding.changes = less_work();
  finding.gain = gain_of(profile, input, images);
  finding.lost = std::min(input, 1.0);
  return finding;
}

}  // namespace

const Rule kExpensiveSamples{
    "expensive-samples",
    "all of: workers run or wait for a core for 90 % of the time; they use 40 % of the usable cores; the main thread "
    "waits for batches for 10 %; less than half a core per main process is free; other programs use less than a fifth "
    "of the cores; large-images, spinning-threads and many-workers find nothing. Without workers, all of: the main "
    "thread decodes and changes images, in the loader or itself while it trains, for 10 % of the time; less than half "
    "a core per main process is free; serial-input, large-images and slow-reads find nothing",
    find_expensive_samples};

}  // namespace unstarve
