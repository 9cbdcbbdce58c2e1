// The start, until steps take their usual time, is a large part of the run: imports, workers that start, compilation,
// libraries that choose their algorithms, caches that are filled.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "unstarve/core/statistics.h"
#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

constexpr double kShare = 0.2;                   // of the run
constexpr double kSlow = 1.5;                    // times the median step
constexpr std::size_t kFewestStepsAtStart = 16;  // steps
constexpr double kShortest = 2;                  // seconds

struct Start {
  double first_s = 0;    // from the start of the process to the end of its first step
  double further_s = 0;  // that the following slow steps take more than the median
  std::size_t slow = 0;  // of them
  double median_s = 0;   // of all steps
  double seconds = 0;    // of the run of this process
  double begin_s = 0;    // of the process
  [[nodiscard]] double all_s() const { return first_s + further_s; }
};

// Nothing if the first step is not known.
std::optional<Start> start_of(const RunProfile& profile, const RankUse& rank) {
  const std::vector<double>& ends = rank.steps.ends_s;
  if (ends.size() < kFewestStepsAtStart || rank.steps.count != static_cast<std::int64_t>(ends.size()))
    return std::nullopt;
  const auto process = std::ranges::find(profile.processes, rank.pid, &ProcessUse::pid);
  if (process == profile.processes.end()) return std::nullopt;
  std::vector<double> seconds(ends.size());
  std::adjacent_difference(ends.begin(), ends.end(), seconds.begin());
  seconds.erase(seconds.begin());
  Start start;
  start.begin_s = process->begin_s;
  start.seconds = process->end_s - process->begin_s;
  start.first_s = ends[0] - rank.begin_unix_s - process->begin_s;
  start.median_s = median(seconds);
  while (start.slow < seconds.size() && seconds[start.slow] > kSlow * start.median_s)
    start.further_s += seconds[start.slow++] - start.median_s;
  if (start.first_s < 0 || start.seconds <= 0 || start.all_s() > start.seconds) return std::nullopt;
  return start;
}

// Whether data came from storage mostly during the start: later it is in the page cache.
bool fills_caches(const RunTimeline& timeline, double end_s) {
  constexpr double kLeast = 1e6;  // bytes per second
  constexpr double kMore = 3;
  double early = 0, late = 0;
  std::size_t early_points = 0;
  for (std::size_t i = 0; i < timeline.storage_bytes_per_s.size(); ++i) {
    const bool is_early = static_cast<double>(i) * timeline.interval_s < end_s;
    (is_early ? early : late) += timeline.storage_bytes_per_s[i];
    early_points += is_early ? 1 : 0;
  }
  const std::size_t late_points = timeline.storage_bytes_per_s.size() - early_points;
  if (early_points == 0 || late_points == 0) return false;
  early /= static_cast<double>(early_points);
  late /= static_cast<double>(late_points);
  return early >= kLeast && early >= kMore * late;
}

std::optional<RunFinding> find_slow_start(const RunProfile& profile) {
  const auto marks = std::ranges::find_if(profile.ranks, [](const RankUse& rank) { return rank.steps.count > 0; });
  if (marks == profile.ranks.end()) return std::nullopt;
  const std::optional<Start> start = start_of(profile, *marks);
  if (!start || start->all_s() < kShortest || start->all_s() < kShare * start->seconds) return std::nullopt;
  RunFinding finding;
  finding.lost = std::min(start->all_s() / start->seconds, 1.0);
  finding.gain = gain_without(finding.lost);  // of this run, at most
  finding.title = fmt::format("the start takes {:.0f} % of this run: measure without it", 100 * finding.lost);
  finding.evidence = fmt::format("the first step ended after {:.1f} s", start->first_s);
  if (start->slow > 0) {
    finding.evidence += fmt::format("; {} took {:.1f} s more than at the median of {:.3f} s",
                                    start->slow == 1 ? "the next step" : fmt::format("the next {} steps", start->slow),
                                    start->further_s, start->median_s);
  }
  finding.changes.general = fmt::format("leave the first {} out of benchmarks, and run longer",
                                        start->slow == 0 ? "step" : fmt::format("{} steps", start->slow + 1));
  const double compilation = share_of(profile.stacks, StackThread::kMain, Activity::kCompile) * profile.stacks.seconds;
  if (compilation >= 0.5) {
    finding.evidence += fmt::format("; the main thread compiled in {:.1f} s of {:.1f} s that were recorded",
                                    compilation, profile.stacks.seconds);
    const std::string cache = finding.changes.general + "; keep compiled code in a cache: the variable ";
    finding.changes.pytorch = cache + "TORCHINDUCTOR_FX_GRAPH_CACHE=1";
    finding.changes.tensorflow = cache + "TF_XLA_FLAGS=--tf_xla_persistent_cache_directory=FOLDER";
    finding.changes.jax = cache + "JAX_COMPILATION_CACHE_DIR=FOLDER";
  }
  if (fills_caches(profile.timeline, start->begin_s + start->all_s())) {
    finding.evidence += "; files were read from storage, later from the page cache";
    finding.changes.add({"read the files once before measuring"});
  }
  return finding;
}

}  // namespace

const Rule kSlowStart{
    "slow-start",
    "un.step() marks 16 to 2048 steps; the time until the end of the first step, plus the excess of the next steps "
    "over the median until a step takes less than 1.5 times the median, is 20 % of the run and at least two seconds",
    find_slow_start, false, false};

}  // namespace unstarve
