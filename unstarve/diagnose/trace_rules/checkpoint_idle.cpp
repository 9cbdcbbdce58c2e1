// Training stops while a checkpoint is written.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_checkpoint_idle(const RunProfile& profile) {
  if (!profile.trace) return std::nullopt;
  const TraceUse& trace = *profile.trace;
  const double lost = share_of(trace, trace.idle.checkpoint_s);
  if (lost < 0.02) return std::nullopt;
  RunFinding finding;
  finding.title = "training stops while checkpoints are written";
  finding.evidence = fmt::format("saving takes {:.2f} s of {:.2f} s ({:.0f} %){}", trace.idle.checkpoint_s,
                                 trace.analysed_s, 100 * lost, while_idle(trace));
  finding.changes = {
      "",
      "copy the state to the host and write it in another thread (torch.distributed.checkpoint.async_save), or "
      "save less often",
      "use tf.train.CheckpointOptions(enable_async=True), or save less often",
      "use orbax.checkpoint.AsyncCheckpointer, or save less often"};
  finding.lost = lost;
  finding.gain = gain_without(lost);
  return finding;
}

}  // namespace

extern const Rule kCheckpointIdle;
const Rule kCheckpointIdle{"checkpoint-idle",
                           "the main thread saves a checkpoint for 2 % of the time, while all accelerators are idle",
                           find_checkpoint_idle};

}  // namespace unstarve
