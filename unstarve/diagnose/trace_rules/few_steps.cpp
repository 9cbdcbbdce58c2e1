// The trace is too short, or was disturbed by its profiler: other findings may be wrong.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/statistics.h"
#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/diagnose/trace_rules/trace_summary.h"
#include "unstarve/observe/block_bootstrap.h"

namespace unstarve {
namespace {

constexpr std::size_t kFewestSteps = 5;

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Of many steps, the means of consecutive ones: a bootstrap of all would take seconds.
std::vector<double> thinned(std::span<const double> values) {
  constexpr std::size_t kMost = 1000;
  const std::size_t group = std::max<std::size_t>((values.size() + kMost - 1) / kMost, 1);
  std::vector<double> means;
  for (std::size_t i = 0; i + group <= values.size(); i += group) means.push_back(mean_of(values.subspan(i, group)));
  return means;
}

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

// How the speed changed while steps were measured; empty: it did not. Parts of a trace differ as in block_bootstrap.h;
// of a watched program, which a shared machine disturbs more, eighths differ by half.
std::string change_of_speed(const TraceUse& trace) {
  std::vector<double> seconds;
  for (const TraceStep& step : trace.steps)
    if (step.seconds > 0) seconds.push_back(step.seconds);
  if (trace.format == "CUPTI") return "";
  const std::optional<Drift> drift = drift_of(thinned(seconds));
  return drift ? to_text(*drift) : "";
}
std::string change_of_speed(const RunProfile& profile) {
  constexpr std::size_t kParts = 8, kFewest = 16;  // steps of each part
  const std::vector<double>& seconds = profile.steps.seconds;
  const std::size_t size = seconds.size() / (kParts + 1);  // the first part contains the start of the program
  if (size < kFewest) return "";
  // Other findings explain it.
  if (sum_of(profile, ProcessRole::kMain).delayed() >= 0.2 || taken_share(profile) >= 0.2) return "";
  if (kSlowingSteps.find(profile) || kGrowingMemory.find(profile)) return "";
  double least = 0, most = 0;
  for (std::size_t part = 1; part <= kParts; ++part) {
    const double now = median(std::span(seconds).subspan(part * size, size));
    least = part == 1 ? now : std::min(least, now);
    most = std::max(most, now);
  }
  if (most < 1.5 * least) return "";
  return fmt::format("the median step of eighths of the run takes {:.1f} to {:.1f} ms", 1e3 * least, 1e3 * most);
}

std::optional<RunFinding> find_unsteady(const std::string& evidence) {
  if (evidence.empty()) return std::nullopt;
  RunFinding finding;
  finding.title =
      "the speed of the program changed while it was measured: shares and gains are means of different states";
  finding.evidence = evidence;
  finding.change =
      "measure a part of the run with constant speed: after the start, without evaluations, with batches of the same "
      "size, and without other programs on the machine";
  return finding;
}

std::optional<RunFinding> find_few_steps(const RunProfile& profile) {
  if (!profile.trace) return find_unsteady(change_of_speed(profile));
  const TraceUse& trace = *profile.trace;
  const double overhead = share_of(trace, trace.overhead_s);
  // watch records kernels as they come: few steps are no problem of the program.
  const bool few = trace.steps.size() < kFewestSteps && trace.format != "CUPTI";
  if (!few && overhead < 0.03 && trace.left_out == 0)
    return find_unsteady(trace.format == "CUPTI" ? change_of_speed(profile) : change_of_speed(trace));
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

const Rule kFewSteps{
    "few-steps",
    "one of: fewer than 5 steps after the first one; the profiler reports that it took 3 % of the time; events were "
    "left out; the mean steps of parts of a trace differ by 5 % and more than by chance; the median steps of eighths "
    "of a watched run differ by half, and slowing-steps, growing-memory and other programs do not explain it",
    find_few_steps, false, false};

}  // namespace unstarve
