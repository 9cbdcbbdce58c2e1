// Collectives of several accelerators that no kernel hides.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_communication_exposed(const TraceUse& trace) {
  const double exposed = trace.parts[static_cast<std::size_t>(StepActivity::kCommunication)];
  std::optional<RunFinding> finding =
      lost_time(trace, "the accelerator waits for communication with others", exposed, 0.05);
  if (!finding) return std::nullopt;
  finding->gain = gain_without_part(trace, StepActivity::kCommunication, exposed);
  double total = 0;
  for (const DeviceUse& device : trace.devices) total += device.collective_s;
  finding->evidence = fmt::format("collectives take {} in which no kernel runs, {:.0f} % of their time",
                                  time_of(trace, exposed), 100 * std::min(exposed / std::max(total, 1e-9), 1.0));
  finding->changes = {
      "use a larger batch per accelerator, exchange numbers of 16 bits, or accumulate gradients over several batches",
      "accumulate gradients (model.no_sync()), use a larger batch per rank, or "
      "model.register_comm_hook(None, torch.distributed.algorithms.ddp_comm_hooks.default_hooks."
      "bf16_compress_hook); if ranks wait for a slow one, compare their traces",
      "use a larger batch per replica, or mixed precision",
      "start with XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true, or use a larger batch per device",
      "accumulate gradients over several batches (unstarve train --accumulate N), or use a larger --batch"};
  return finding;
}

}  // namespace

const Rule kCommunicationExposed{"communication-exposed", "for 5 % of the step, collectives run while no kernel runs",
                                 of_trace<find_communication_exposed>};

}  // namespace unstarve
