// Training stops while metrics and images are logged.

#include <fmt/format.h>

#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_logging_idle(const TraceUse& trace) {
  std::optional<RunFinding> finding =
      lost_time(trace, "training stops while metrics are logged", trace.idle.logging_s, 0.02);
  if (!finding) return std::nullopt;
  finding->evidence = fmt::format("logging takes {}{}", time_of(trace, trace.idle.logging_s), while_idle(trace));
  finding->changes = {
      "log every 100 steps, sum metrics on the accelerator until then, and write images in another thread",
      "log every 100 steps, sum metrics on the accelerator until then (no .item()), and write images in another thread",
      "log every 100 steps (tf.summary.record_if(step % 100 == 0), TensorBoard(update_freq=100)), and write images in "
      "another thread",
      "log every 100 steps, keep metrics as arrays until then (no float() or print), and write images in another "
      "thread"};
  return finding;
}

}  // namespace

const Rule kLoggingIdle{"logging-idle", "the main thread logs for 2 % of the time, while all accelerators are idle",
                        of_trace<find_logging_idle>};

}  // namespace unstarve
