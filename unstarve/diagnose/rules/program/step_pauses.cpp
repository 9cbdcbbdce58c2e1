// Some steps contain a pause.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/profile/long_steps.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_step_pauses(const RunProfile& profile) {
  constexpr std::size_t kFewest = 20;
  constexpr double kRare = 0.15;  // of the steps: more are not pauses, but steps of two kinds
  const std::vector<double>& seconds = profile.steps.seconds;
  if (seconds.size() < kFewest) return std::nullopt;
  const LongSteps pauses = long_steps(seconds, kLongStep);
  const auto after_start =
      std::ranges::count_if(pauses.indexes, [&](std::size_t index) { return 10 * index >= seconds.size(); });
  if (after_start < 2 || static_cast<double>(pauses.indexes.size()) > kRare * static_cast<double>(seconds.size()))
    return std::nullopt;
  if (pauses.share < 0.1) return std::nullopt;
  RunFinding finding;
  finding.title = "pauses between steps take much of the time";
  finding.evidence = fmt::format(
      "{} of {} steps take more than {} times the median of {:.3f} s{}, up to {:.2f} s; they exceed it by {:.0f} % of "
      "the time of all steps",
      pauses.indexes.size(), seconds.size(), kLongStep, pauses.median_s,
      pauses.period > 0 ? fmt::format(", one in {}", pauses.period) : "", std::ranges::max(seconds),
      100 * pauses.share);
  if (pauses.period > 0) {
    finding.change = fmt::format(
        "find what runs every {} steps: evaluation, checkpoints, logs, or Python's garbage collector (call gc.freeze() "
        "before training, and gc.collect() at a fixed interval); do it less often, or in another thread or process",
        pauses.period);
  } else {
    finding.change =
        "find what differs in these steps: Python's garbage collector (call gc.freeze() before training), batches of "
        "other shapes (compilation, allocation), a slow sample, or a pause of storage or network";
  }
  finding.gain = gain_without(std::min(pauses.share, 0.99));
  finding.lost = pauses.share;
  return finding;
}

}  // namespace

const Rule kStepPauses{"step-pauses",
                       "of 20 or more known steps, up to 15 %, and two of them after the first tenth, take more than 3 "
                       "times the median, and exceed it by 10 % of the time; found only if no other rule explains half "
                       "as much",
                       find_step_pauses, true};

}  // namespace unstarve
