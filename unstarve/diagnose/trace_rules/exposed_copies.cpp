// Copies to the accelerator from pinned memory that no kernel hides.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_exposed_copies(const TraceUse& trace) {
  const CopyUse copies = copies_of(trace, CopyDirection::kToDevice, false);
  const double exposed = exposed_s(trace, copies);
  std::optional<RunFinding> finding = lost_time(trace, "kernels wait for copies to the accelerator", exposed, 0.03);
  if (!finding) return std::nullopt;
  finding->gain = gain_without_part(trace, StepActivity::kCopy, exposed);
  finding->evidence = fmt::format("{:.0f} % of the time of these copies overlaps with kernels; the rest takes {}",
                                  100 * copies.overlapped_s / std::max(copies.seconds, 1e-9), time_of(trace, exposed));
  finding->changes = {"copy the next batch on a second stream while the current one is used",
                      "copy the next batch on a second stream while the current one is used: batch.to(device, "
                      "non_blocking=True) inside of torch.cuda.stream(copy_stream), then "
                      "torch.cuda.current_stream().wait_stream(copy_stream)",
                      "end the pipeline with dataset.apply(tf.data.experimental.prefetch_to_device(\"/GPU:0\"))",
                      "call jax.device_put for the next batch before the result of the current step is read",
                      "use to_torch(device), which copies the next batch on its own stream"};
  return finding;
}

}  // namespace

const Rule kExposedCopies{"copies-not-overlapped",
                          "for 3 % of the step, copies from other memory to the accelerator run while no kernel runs",
                          of_trace<find_exposed_copies>};

}  // namespace unstarve
