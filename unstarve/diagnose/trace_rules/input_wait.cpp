// The main thread waits for the next batch while no accelerator works.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_input_wait(const RunProfile& profile) {
  if (!profile.trace) return std::nullopt;
  const TraceUse& trace = *profile.trace;
  const double lost = share_of(trace, trace.idle.loader_s);
  if (lost < 0.05) return std::nullopt;
  RunFinding finding;
  finding.title = "the main thread waits for the next batch";
  finding.evidence =
      fmt::format("the loader ({}) takes {}{}", trace.loader, time_of(trace, trace.idle.loader_s), while_idle(trace));
  const bool no_workers = trace.loader.find("_SingleProcessDataLoaderIter") != std::string::npos;
  finding.changes = {
      "",
      no_workers ? "load in other processes: DataLoader(num_workers=N, persistent_workers=True), with N of up to "
                   "the number of cores"
                 : "use more workers (num_workers, prefetch_factor), or a loader that needs less CPU time per "
                   "sample; unstarve watch shows whether cores are free",
      "use dataset.map(f, num_parallel_calls=tf.data.AUTOTUNE) and end the pipeline with .prefetch(tf.data.AUTOTUNE)",
      "prepare the next batches in other threads or processes, and keep two of them ready",
      "let unstarve tune choose threads, prefetch and read-ahead; unstarve bench shows the slowest stage"};
  finding.lost = lost;
  finding.gain = gain_without(lost);
  return finding;
}

}  // namespace

extern const Rule kInputWait;
const Rule kInputWait{"input-wait",
                      "the main thread waits for the loader for 5 % of the step, while all accelerators are idle",
                      find_input_wait};

}  // namespace unstarve
