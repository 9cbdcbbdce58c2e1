// The main thread waits for the next batch while no accelerator works.

#include <fmt/format.h>

#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_input_wait(const TraceUse& trace) {
  std::optional<RunFinding> finding =
      lost_time(trace, "the main thread waits for the next batch", trace.idle.loader_s, 0.05);
  if (!finding) return std::nullopt;
  finding->gain = gain_without_part(trace, StepActivity::kLoader, trace.idle.loader_s);
  finding->evidence =
      fmt::format("the loader ({}) takes {}{}", trace.loader, time_of(trace, trace.idle.loader_s), while_idle(trace));
  const bool no_workers = trace.loader.find("_SingleProcessDataLoaderIter") != std::string::npos;
  finding->changes = {
      "prepare the next batches in other threads or processes, and keep two of them ready",
      no_workers ? "load in other processes: DataLoader(num_workers=N, persistent_workers=True), with N of up to "
                   "the number of cores"
                 : "use more workers (num_workers, prefetch_factor), or a loader that needs less CPU time per "
                   "sample; unstarve watch shows whether cores are free",
      "use dataset.map(f, num_parallel_calls=tf.data.AUTOTUNE) and end the pipeline with .prefetch(tf.data.AUTOTUNE)",
      "prepare the next batches in other threads or processes, and keep two of them ready",
      "let unstarve tune choose threads, prefetch and read-ahead; unstarve bench shows the slowest stage"};
  return finding;
}

}  // namespace

const Rule kInputWait{"input-wait",
                      "the main thread waits for the loader for 5 % of the step, while all accelerators are idle",
                      of_trace<find_input_wait>};

}  // namespace unstarve
