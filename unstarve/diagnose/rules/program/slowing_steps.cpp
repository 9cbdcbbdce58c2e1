// Steps become slower in the course of the run.

#include <fmt/format.h>

#include <array>
#include <span>

#include "unstarve/core/statistics.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_slowing_steps(const RunProfile& profile) {
  constexpr std::size_t kFifths = 5;
  constexpr std::size_t kFewest = 50;
  const std::vector<double>& seconds = profile.steps.seconds;
  if (seconds.size() < kFewest || sum_of(profile, ProcessRole::kMain).delayed() >= 0.2) return std::nullopt;
  const std::size_t size = seconds.size() / kFifths;
  std::array<double, kFifths> medians{};
  for (std::size_t part = 0; part < kFifths; ++part)
    medians[part] = median(std::span(seconds).subspan(part * size, size));
  // The first part contains the start of the program.
  for (std::size_t part = 2; part < kFifths; ++part)
    if (medians[part] < 1.05 * medians[part - 1]) return std::nullopt;
  if (medians[kFifths - 1] < 1.3 * medians[1]) return std::nullopt;
  double mean = 0;
  for (std::size_t part = 1; part < kFifths; ++part) mean += medians[part] / (kFifths - 1);
  RunFinding finding;
  finding.title = "steps become slower in the course of the run";
  finding.evidence = fmt::format(
      "the median step of five parts of the run takes {:.3f}, {:.3f}, {:.3f}, {:.3f} and "
      "{:.3f} s",
      medians[0], medians[1], medians[2], medians[3], medians[4]);
  finding.change =
      "find what grows with the number of steps: lists that keep graphs or batches, logs and metrics that are computed "
      "over all steps, larger samples at the end of the data, a device that becomes too hot";
  finding.lost = 1 - medians[1] / mean;
  finding.gain = gain_without(finding.lost);
  return finding;
}

}  // namespace

const Rule kSlowingSteps{
    "slowing-steps",
    "of five parts of 50 or more known steps, each after the second has a median that is 5 % longer than before, in "
    "total by 30 %, and the main process waited for a core for less than 20 % of the time in which it could run; found "
    "only if no other rule explains half as much",
    find_slowing_steps, true};

}  // namespace unstarve
