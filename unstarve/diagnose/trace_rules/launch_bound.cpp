// The accelerator waits for the host, which launches kernels more slowly than they run.

#include <fmt/format.h>

#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

constexpr double kShortKernel = 20e-6;  // seconds; a launch takes 5 to 20 us on the host

std::optional<RunFinding> find_launch_bound(const RunProfile& profile) {
  if (!profile.trace) return std::nullopt;
  const TraceUse& trace = *profile.trace;
  const double idle_s = host_idle(profile).launch_s, lost = share_of(trace, idle_s);
  if (lost < 0.1 || trace.runtime.kernels == 0) return std::nullopt;
  const bool short_kernels = trace.runtime.median_kernel_s < kShortKernel;
  RunFinding finding;
  finding.title = short_kernels
                      ? "the accelerator waits for launches: its kernels are shorter than launching them takes"
                      : "the accelerator waits for the main thread, which does other work";
  finding.evidence = fmt::format(
      "all accelerators are idle for {}, while the host neither loads, waits nor allocates; {:.0f} kernels {}, half of "
      "them shorter than {:.0f} us",
      time_of(trace, idle_s), rate_of(trace, static_cast<double>(trace.runtime.kernels)), rate_unit(trace),
      1e6 * trace.runtime.median_kernel_s);
  if (!short_kernels && !trace.operators.empty()) {
    finding.evidence += fmt::format("; of operators on the CPU, {} takes most: {}", trace.operators[0].name,
                                    time_of(trace, trace.operators[0].seconds));
  }
  if (short_kernels) {
    finding.changes = {
        "use CUDA graphs, fewer and larger kernels, or a larger batch",
        "use torch.compile(model, mode=\"reduce-overhead\") or CUDA graphs, a fused optimiser "
        "(fused=True), or a larger batch",
        "use tf.function(jit_compile=True), or a larger batch",
        "compile the whole step with one jax.jit, run several steps in jax.lax.scan, or use a larger batch",
        "use CUDA graphs (unstarve train --graph on), or a larger batch: unstarve batch-find finds the best"};
  } else {
    finding.change =
        "move work of the main thread (metrics, preprocessing, Python loops) to the workers of the loader, to the "
        "accelerator, or out of the step";
  }
  finding.lost = lost;
  finding.gain = gain_without(lost);
  return finding;
}

}  // namespace

const Rule kLaunchBound{"launch-bound",
                        "all accelerators are idle for 10 % of the step, while the host neither waits for them or for "
                        "the loader, nor allocates, saves or logs",
                        find_launch_bound};

}  // namespace unstarve
