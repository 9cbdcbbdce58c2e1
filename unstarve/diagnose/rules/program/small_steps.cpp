// The overhead of many small operators: the main thread executes Python, but no single function takes its time.

#include <fmt/format.h>

#include <cmath>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_small_steps(const RunProfile& profile) {
  const RoleSum main = sum_of(profile, ProcessRole::kMain);
  const double share = interpreter_share(profile.stacks);
  // Delays by other programs are not a part of the cause.
  const double runnable = main.lived_s > 0 ? (main.thread_s + main.run_delay_s) / main.lived_s : 0;
  if (main.processes == 0 || runnable < 0.7 || usable_cores(profile.machine) < 2) return std::nullopt;
  if (main.busy() > 1.3 || share < 0.1 || input_share(profile) > 0.3) return std::nullopt;
  if (hottest_python(profile.stacks).line.share >= kHotFunction) return std::nullopt;
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

const Rule kSmallSteps{"small-steps",
                       "the main thread runs or waits for a core for 70 % of the time and holds the GIL for 10 %, but "
                       "no single function does as in python-bound; its process uses at most 1.3 cores",
                       find_small_steps};

}  // namespace unstarve
