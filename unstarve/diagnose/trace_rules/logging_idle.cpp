// Training stops while metrics and images are logged.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_logging_idle(const RunProfile& profile) {
  if (!profile.trace) return std::nullopt;
  const TraceUse& trace = *profile.trace;
  const double lost = share_of(trace, trace.idle.logging_s);
  if (lost < 0.02) return std::nullopt;
  RunFinding finding;
  finding.title = "training stops while metrics are logged";
  finding.evidence = fmt::format("logging takes {}{}", time_of(trace, trace.idle.logging_s), while_idle(trace));
  finding.changes = {
      "log every 100 steps, sum metrics on the accelerator until then, and write images in another thread",
      "log every 100 steps, sum metrics on the accelerator until then (no .item()), and write images in another thread",
      "log every 100 steps (tf.summary.record_if(step % 100 == 0), TensorBoard(update_freq=100)), and write images in "
      "another thread",
      "log every 100 steps, keep metrics as arrays until then (no float() or print), and write images in another "
      "thread"};
  finding.lost = lost;
  finding.gain = gain_without(lost);
  return finding;
}

}  // namespace

extern const Rule kLoggingIdle;
const Rule kLoggingIdle{"logging-idle", "the main thread logs for 2 % of the time, while all accelerators are idle",
                        find_logging_idle};

}  // namespace unstarve
