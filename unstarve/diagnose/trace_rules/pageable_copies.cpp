// Copies to the accelerator from pageable memory, which are slow and cannot run next to kernels.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_pageable_copies(const TraceUse& trace) {
  const CopyUse copies = copies_of(trace, CopyDirection::kToDevice, true);
  const double exposed = exposed_s(trace, copies);
  std::optional<RunFinding> finding =
      lost_time(trace, "batches are copied to the accelerator from pageable memory", exposed, 0.02);
  if (!finding) return std::nullopt;
  finding->gain = gain_without_part(trace, StepActivity::kCopy, exposed);
  finding->evidence =
      fmt::format("{:.1f} MB {} are copied from pageable memory at {:.1f} GB/s; no kernel runs for {}",
                  1e-6 * rate_of(trace, static_cast<double>(copies.bytes)), rate_unit(trace),
                  1e-9 * static_cast<double>(copies.bytes) / std::max(copies.seconds, 1e-9), time_of(trace, exposed));
  finding->changes = {"copy from pinned memory (cudaHostAlloc, cudaHostRegister), on a stream of its own",
                      "use DataLoader(pin_memory=True) and batch.to(device, non_blocking=True)",
                      "end the pipeline with dataset.apply(tf.data.experimental.prefetch_to_device(\"/GPU:0\"))",
                      "call jax.device_put for the next batch before the result of the current step is read",
                      "use to_torch(device), which copies from pinned memory"};
  return finding;
}

}  // namespace

const Rule kPageableCopies{
    "pageable-copies", "for 2 % of the step, copies from pageable memory to the accelerator run while no kernel runs",
    of_trace<find_pageable_copies>};

}  // namespace unstarve
