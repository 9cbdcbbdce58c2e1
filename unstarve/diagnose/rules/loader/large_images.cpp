// Images are decoded completely and then made much smaller.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/own_loop.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

constexpr double kPage = 4096;
// Bytes per second of CPU time; examples/slow: 72e6 to 190e6 with small photographs, 1.1e9 with large ones.
constexpr double kNewMemory = 400e6;

// Shares of the loader's time.
struct Work {
  double decode = 0;
  double pixels = 0;  // other operations on images, and their release
};

Work work_of(const RunProfile& profile, bool workers, double input) {
  const PythonStacks& stacks = profile.stacks;
  if (!workers) {
    const auto share = [&](Activity activity) {
      return share_within_input(stacks, activity) + own_share(profile, activity);
    };
    return {share(Activity::kDecode) / input,
            (share(Activity::kPixels) + own_share_of_image_lines(stacks, StackThread::kMain)) / input};
  }
  const double processes = stacks.processes;
  return {share_of(stacks, StackThread::kLoader, Activity::kDecode) / processes,
          (share_of(stacks, StackThread::kLoader, Activity::kPixels) +
           own_share_of_image_lines(stacks, StackThread::kLoader)) /
              processes};
}

std::optional<RunFinding> find_large_images(const RunProfile& profile) {
  const RoleSum loader = sum_of(profile, ProcessRole::kLoader);
  const bool workers = loader.processes > 0 && profile.stacks.processes > 0;
  const RoleSum& sum = workers ? loader : sum_of(profile, ProcessRole::kMain);
  const double input = input_share(profile);
  if (sum.cpu_s <= 0 || input < 0.1) return std::nullopt;
  const Work work = work_of(profile, workers, input);
  const double new_memory = kPage * static_cast<double>(sum.minor_faults) / sum.cpu_s;
  if (work.decode < 0.2 || work.decode + work.pixels < 0.5 || new_memory < kNewMemory) return std::nullopt;
  RunFinding finding;
  finding.title = "large images are decoded at full resolution";
  finding.evidence = fmt::format(
      "the loader spends {:.0f} % of its time on decoding and {:.0f} % on other operations on whole images, and "
      "allocates {:.0f} MB of new memory per second of CPU time",
      100 * work.decode, 100 * work.pixels, 1e-6 * new_memory);
  finding.changes = {
      "decode at reduced scale, or store smaller images once (unstarve pack --resize)",
      "decode at reduced scale (call image.draft('RGB', size) of Pillow before the image is read), decode only the "
      "crop (unstarve.open() does so), or store smaller images once (unstarve pack --resize)",
      "decode at reduced scale: tf.io.decode_jpeg(..., ratio=4); or store smaller images once (unstarve pack --resize)",
      "decode at reduced scale (call image.draft('RGB', size) of Pillow before the image is read), decode only the "
      "crop (unstarve.open() does so), or store smaller images once (unstarve pack --resize)",
      "decode at reduced scale: passes(scale_into_decode=True), which changes pixels slightly; or store smaller images "
      "once (unstarve pack --resize)"};
  // At a scale of 1/4 or 1/8, entropy decoding remains: 0.3 of the time of decoding, with the faults of new pages.
  const double rest = std::max(1 - 0.7 * work.decode - 0.97 * work.pixels, 0.0);
  finding.gain = gain_without(input * (1 - rest), profile.stacks.seconds);
  finding.gain.high = std::min(finding.gain.high, gain_without(1 - rest).gain);  // what remains of the loader's work
  if (workers) finding.gain = least_of(finding.gain, gain_by_less_work(profile, rest));
  finding.lost = lost_by(finding.gain);
  return finding;
}

}  // namespace

const Rule kLargeImages{
    "large-images",
    "the main thread is in the loader, or trains and loads images itself, for 10 % of the time; the "
    "loader decodes for 20 % of its time, processes images for 50 %, and allocates 400 MB of new "
    "memory per second of CPU time",
    find_large_images};

}  // namespace unstarve
