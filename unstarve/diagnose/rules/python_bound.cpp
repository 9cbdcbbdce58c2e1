// The main thread executes Python code: one expensive line, or the overhead of many small operators.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

// Share of the time in which the main thread holds the interpreter's lock outside of the loader.
double interpreter_outside_input(const PythonStacks& stacks) {
  if (stacks.interpreter_s <= 0) return 0;
  double seconds = 0;
  for (const StackUse& stack : stacks.stacks)
    if (stack.thread == StackThread::kMain && stack.interpreter_s > 0 && activity_of(stacks, stack) == Activity::kOther)
      seconds += stack.interpreter_s;
  return seconds / stacks.interpreter_s;
}

constexpr double kHot = 0.2;
constexpr double kWaits = 0.15;  // of the time; a gain is of the time with waits

// A function that spends its time in one line waits for a call, which can be moved or removed. A loop has several
// lines; operations on whole arrays take a part of its time (0.18 in examples/slow/augment_in_python).
GainPrediction gain_of(const HotFunction& hot, double seconds) {
  constexpr double kOneLine = 0.8, kOnArrays = 0.15;
  const bool one_line = hot.line_share >= kOneLine;
  const double rest = one_line ? 0 : kOnArrays;
  const double share = one_line ? std::max(hot.line_wall_share, hot.line_share * hot.line.share)
                                : std::max(hot.wall_share, hot.line.share);
  const GainPrediction removed = gain_without(share, seconds);
  const double low = one_line ? removed.low : gain_without(share * (1 - 2 * kOnArrays), seconds).low;
  return {gain_without(share * (1 - rest)).gain, low, removed.high};
}

std::optional<RunFinding> find_python(const RunProfile& profile) {
  const HotFunction hot = hottest_python(profile.stacks);
  const HotLine& line = hot.line;
  const double share = interpreter_outside_input(profile.stacks);
  if (line.share < kHot || share < 0.3) return std::nullopt;
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
  finding.lost = lost_by(finding.gain);
  return finding;
}

std::optional<RunFinding> find_small_steps(const RunProfile& profile) {
  const RoleSum main = sum_of(profile, ProcessRole::kMain);
  const double share = interpreter_outside_input(profile.stacks);
  // Delays by other programs are not a part of the cause.
  const double runnable = main.lived_s > 0 ? (main.thread_s + main.run_delay_s) / main.lived_s : 0;
  if (main.processes == 0 || runnable < 0.7 || usable_cores(profile.machine) < 2) return std::nullopt;
  if (main.busy() > 1.3 || share < 0.1 || input_share(profile) > 0.3) return std::nullopt;
  if (hottest_python(profile.stacks).line.share >= kHot) return std::nullopt;
  RunFinding finding;
  finding.title = "the operators are small: only one core computes, and Python takes a part of its time";
  finding.evidence = fmt::format(
      "the main thread runs for {:.0f} % of the time and holds the GIL for {:.0f} %, spread over many lines; its "
      "process uses {:.1f} of {:.1f} cores; the predicted gain is that of batches of twice the size",
      100 * main.thread_busy(), 100 * share, main.busy(), usable_cores(profile.machine));
  finding.changes = {"use batches of twice the size or larger, or compile the step",
                     "use batches of twice the size or larger (unstarve batch-find finds the best), or compile the "
                     "step: torch.compile(model)",
                     "use batches of twice the size or larger, compile the step with tf.function(jit_compile=True), or "
                     "run several steps per call: "
                     "model.compile(steps_per_execution=10)",
                     "use batches of twice the size or larger, or compile the whole step with one jax.jit",
                     "use batches of twice the size or larger: unstarve batch-find finds the best"};
  // Of batches of twice the size: at least the time of Python remains the same, at most that of the whole step.
  constexpr double kMost = 2;
  const double least = gain_without(share / 2).gain;
  finding.gain = {std::sqrt(least * kMost), least, kMost};
  finding.lost = share;
  return finding;
}

}  // namespace

const Rule kPythonBound{
    "python-bound",
    "outside of the loader, the main thread holds the GIL (Python's global lock) for 30 % of the time, and for 20 % in "
    "one function of the program and the functions that it calls, except those of torch, TensorFlow and JAX",
    find_python};
const Rule kSmallSteps{"small-steps",
                       "the main thread runs or waits for a core for 70 % of the time and holds the GIL for 10 %, but "
                       "no single function does as in python-bound; its process uses at most 1.3 cores",
                       find_small_steps};

}  // namespace unstarve
