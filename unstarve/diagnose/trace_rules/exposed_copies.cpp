// Copies to the accelerator from pinned memory that no kernel hides.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_exposed_copies(const RunProfile& profile) {
  if (!profile.trace) return std::nullopt;
  const TraceUse& trace = *profile.trace;
  const CopyUse copies = copies_of(trace, CopyDirection::kToDevice, false);
  const double exposed = exposed_s(trace, copies), lost = share_of(trace, exposed);
  if (lost < 0.03) return std::nullopt;
  RunFinding finding;
  finding.title = "kernels wait for copies to the accelerator";
  finding.evidence = fmt::format("{:.0f} % of the time of these copies overlaps with kernels; the rest takes {}",
                                 100 * copies.overlapped_s / std::max(copies.seconds, 1e-9), time_of(trace, exposed));
  finding.changes = {"",
                     "copy the next batch on a second stream while the current one is used: batch.to(device, "
                     "non_blocking=True) inside of torch.cuda.stream(copy_stream), then "
                     "torch.cuda.current_stream().wait_stream(copy_stream)",
                     "end the pipeline with dataset.apply(tf.data.experimental.prefetch_to_device(\"/GPU:0\"))",
                     "call jax.device_put for the next batch before the result of the current step is read",
                     "use to_torch(device), which copies the next batch on its own stream"};
  finding.lost = lost;
  finding.gain = gain_without(lost);
  return finding;
}

}  // namespace

extern const Rule kExposedCopies;
const Rule kExposedCopies{"copies-not-overlapped",
                          "for 3 % of the step, copies from other memory to the accelerator run while no kernel runs",
                          find_exposed_copies};

}  // namespace unstarve
