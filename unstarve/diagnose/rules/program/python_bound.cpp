// The main thread executes Python code, mostly in one function.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

constexpr double kWaits = 0.15;  // of the time; a gain is of the time with waits

// A function that spends its time in one line waits for a call, which can be moved or removed. A loop has several
// lines; operations on whole arrays take a part of its time (0.18 in examples/slow/augment_in_python).
GainPrediction gain_of(const HotFunction& hot, double seconds) {
  constexpr double kOneLine = 0.8, kOnArrays = 0.15;
  constexpr double kMostGain = 100;  // of gain_without()
  const bool one_line = hot.line_share >= kOneLine;
  const double rest = one_line ? 0 : kOnArrays;
  const double share = one_line ? std::max(hot.line_wall_share, hot.line_share * hot.line.share)
                                : std::max(hot.wall_share, hot.line.share);
  const GainPrediction removed = gain_without(share, seconds);
  // Nothing else needs time: all depends on what replaces it.
  if ((one_line ? removed.high : removed.gain) >= kMostGain) return {};
  const double low = one_line ? removed.low : gain_without(share * (1 - 2 * kOnArrays), seconds).low;
  return {gain_without(share * (1 - rest)).gain, low, removed.high};
}

std::optional<RunFinding> find_python(const RunProfile& profile) {
  const HotFunction hot = hottest_python(profile.stacks);
  const HotLine& line = hot.line;
  const double share = interpreter_share(profile.stacks);
  if (line.share < kHotFunction || share < 0.3) return std::nullopt;
  RunFinding finding;
  finding.title = fmt::format("the main thread executes Python code, mostly at {}", to_string(line.line));
  finding.evidence =
      fmt::format("outside of the loader, it holds the GIL for {:.0f} % of the time, and for {:.0f} % in this function",
                  100 * share, 100 * line.share);
  if (hot.wall_share > line.share + kWaits)
    finding.evidence += fmt::format("; with waits, it is in this function for {:.0f} %", 100 * hot.wall_share);
  finding.changes = {
      "replace loops with operations on whole arrays, or move the work into the workers of the loader",
      "replace loops with operations on whole tensors, or move the work into the Dataset, which the DataLoader's "
      "workers execute",
      "replace loops with operations on whole tensors in a tf.function, or move the work into dataset.map(f, "
      "num_parallel_calls=tf.data.AUTOTUNE)",
      "replace loops with jax.vmap or jax.lax.scan inside of jax.jit, or move the work into the workers of the loader",
      "replace loops with operations on whole arrays, or move the work into map(f) of the pipeline, which other "
      "processes execute"};
  finding.gain = gain_of(hot, profile.stacks.seconds);
  finding.lost = finding.gain.gain > 0 ? lost_by(finding.gain) : std::min(std::max(hot.wall_share, line.share), 1.0);
  return finding;
}

}  // namespace

const Rule kPythonBound{
    "python-bound",
    "outside of the loader, the main thread holds the GIL (Python's global lock) for 30 % of the time, and for 20 % in "
    "one function of the program and the functions that it calls, except those of torch, TensorFlow and JAX",
    find_python};

}  // namespace unstarve
