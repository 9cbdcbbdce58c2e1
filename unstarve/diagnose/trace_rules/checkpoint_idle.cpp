// Training stops while a checkpoint is written.

#include <fmt/format.h>

#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_checkpoint_idle(const TraceUse& trace) {
  std::optional<RunFinding> finding =
      lost_time(trace, "training stops while checkpoints are written", trace.idle.checkpoint_s, 0.02);
  if (!finding) return std::nullopt;
  finding->evidence = fmt::format("saving takes {:.2f} s of {:.2f} s ({:.0f} %){}", trace.idle.checkpoint_s,
                                  trace.analysed_s, 100 * finding->lost, while_idle(trace));
  finding->changes = {
      "copy the state to the host and write it in another thread, or save less often",
      "copy the state to the host and write it in another thread (torch.distributed.checkpoint.async_save), or "
      "save less often",
      "use tf.train.CheckpointOptions(enable_async=True), or save less often",
      "use orbax.checkpoint.AsyncCheckpointer, or save less often",
      "save less often: unstarve train --checkpoint-every"};
  return finding;
}

}  // namespace

const Rule kCheckpointIdle{"checkpoint-idle",
                           "the main thread saves a checkpoint for 2 % of the time, while all accelerators are idle",
                           of_trace<find_checkpoint_idle>};

}  // namespace unstarve
