// Operators run on the CPU between copies from and to the accelerator, which is idle until they end.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/trace_rules/trace_summary.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

// "aten::linalg_svd (18.2 ms) and aten::sort (3.1 ms)", of a step, or of the trace if it has no steps.
std::string names_of(const TraceUse& trace) {
  constexpr std::size_t kShown = 3;
  std::string names;
  const std::size_t count = std::min(trace.fallback.operators.size(), kShown);
  for (std::size_t i = 0; i < count; ++i) {
    const NamedTime& one = trace.fallback.operators[i];
    names += fmt::format("{}{} ({:.1f} ms)",
                         i == 0           ? ""
                         : i + 1 == count ? " and "
                                          : ", ",
                         printable(one.name), 1e3 * per_step(trace, one.seconds));
  }
  return names.empty() ? "their names are not in the trace" : "most time is in " + names;
}

std::optional<RunFinding> find_cpu_fallback(const TraceUse& trace) {
  std::optional<RunFinding> finding =
      lost_time(trace, "operators run on the CPU within steps, while the accelerator waits for their results",
                trace.fallback.seconds, 0.03);
  if (!finding) return std::nullopt;
  finding->evidence = fmt::format(
      "{:.1f} times {}, data is copied to the host, and results back: {} in these copies; all accelerators are idle "
      "for {}; {}",
      rate_of(trace, static_cast<double>(trace.fallback.count)), rate_unit(trace),
      format_bytes(
          static_cast<std::uint64_t>(std::max(rate_of(trace, static_cast<double>(trace.fallback.bytes)), 0.0))),
      time_of(trace, trace.fallback.seconds), names_of(trace));
  finding->changes = {
      "compute on the accelerator: no operators without an implementation for it within the step",
      "compute on the accelerator: no .cpu() or .numpy() within the step; replace an operator without an "
      "implementation for the accelerator (a warning about fallback names it), or run it once per epoch or in the "
      "loader",
      "compute on the accelerator: no tf.py_function or numpy_function within the step; "
      "tf.debugging.set_log_device_placement(True) names operators that are placed on the CPU",
      "compute on the accelerator: no jax.pure_callback, numpy functions or jax.device_get within the step"};
  return finding;
}

}  // namespace

const Rule kCpuFallback{"cpu-fallback",
                        "for 3 % of the step, operators run on the CPU between a copy to the host and a copy to the "
                        "accelerator, while all accelerators are idle",
                        of_trace<find_cpu_fallback>};

}  // namespace unstarve
