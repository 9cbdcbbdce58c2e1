// The trace is too short, or was disturbed by its profiler: other findings may be wrong.

#include <fmt/format.h>

#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

constexpr std::size_t kFewestSteps = 5;

Changes how_to_record(const TraceUse& trace) {
  if (trace.format == "CUPTI")
    return {"call un.step() at the end of every step, and run the program for 30 s or longer"};
  if (trace.format == "Nsight Systems")
    return {"record 10 steps, each inside of an NVTX range: torch.cuda.nvtx.range(f\"step {i}\")"};
  return {
      "record 10 steps, each inside of a range that marks it, by the functions of the profiler",
      "record 10 steps: torch.profiler.schedule(wait=1, warmup=1, active=10, repeat=1), and call profiler.step() at "
      "the end of every step",
      "record 10 steps, each inside of tf.profiler.experimental.Trace(\"train\", step_num=step, _r=1)",
      "record 10 steps, each inside of jax.profiler.StepTraceAnnotation(\"train\", step_num=step)"};
}

std::optional<RunFinding> find_few_steps(const RunProfile& profile) {
  if (!profile.trace) return std::nullopt;
  const TraceUse& trace = *profile.trace;
  const double overhead = share_of(trace, trace.overhead_s);
  // watch records kernels as they come: few steps are no problem of the program.
  const bool few = trace.steps.size() < kFewestSteps && trace.format != "CUPTI";
  if (!few && overhead < 0.03 && trace.left_out == 0) return std::nullopt;
  RunFinding finding;
  std::string record;  // what to change about the recording, apart from the steps
  finding.title = "the trace is not sufficient for a reliable diagnosis";
  if (few) {
    finding.evidence = trace.steps.empty() ? "it has no steps"
                                           : fmt::format("it has {} step{} that can be evaluated", trace.steps.size(),
                                                         trace.steps.size() == 1 ? "" : "s");
  }
  if (overhead >= 0.03) {
    finding.evidence += fmt::format("{}the profiler itself took {:.0f} % of the time", few ? "; " : "", 100 * overhead);
    record = trace.format == "CUPTI" ? "watch with --no-cupti: findings on kernels are left out"
                                     : "record less: no stacks, shapes or memory";
  }
  if (trace.left_out > 0) {
    finding.evidence += fmt::format("{}{} events were left out, because they exceed the memory limit",
                                    finding.evidence.empty() ? "" : "; ", trace.left_out);
    record += fmt::format("{}record fewer steps", record.empty() ? "" : "; ");
  }
  if (few) finding.changes = how_to_record(trace);
  if (few && !record.empty()) finding.changes.add({record});
  if (!few) finding.change = record;
  return finding;
}

}  // namespace

const Rule kFewSteps{"few-steps",
                     "there are fewer than 5 steps after the first one, the profiler reports that it took 3 % of the "
                     "time, or events were left out",
                     find_few_steps, false, false};

}  // namespace unstarve
