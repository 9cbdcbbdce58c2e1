// What the findings on traces have in common: gains, traces that permit no conclusion, changes for each library.
#include <catch2/catch.hpp>

#include "unstarve/diagnose/trace_rules/testing/trace_profiles.h"

namespace unstarve {
namespace {

using Catch::Contains;
using namespace testing;

TEST_CASE("the gain has an interval if the steps show the part that is saved") {
  RunProfile profile = training(0.7, StepActivity::kLoader);
  profile.trace->idle.loader_s = 0.6;
  for (std::size_t i = 0; i < 20; ++i) {  // 20 to 60 ms
    const double more = i == 3 || i == 4 || i == 11 || i == 16 || i == 18 ? 0.03 : -0.01;
    profile.trace->steps[i].seconds += more;
    profile.trace->steps[i].parts[static_cast<std::size_t>(StepActivity::kLoader)] += more;
  }
  GainPrediction gain = finding_of(profile, "input-wait").gain;
  CHECK(gain.gain == Approx(1 / 0.7));
  CHECK(gain.known());
  CHECK(gain.low > 1.2);
  CHECK(gain.low < 1.41);
  CHECK(gain.high > 1.45);
  CHECK(gain.high < 1.7);
  // Steps whose other parts vary, too: the share of the loader is the same in all.
  RunProfile proportional = training(0.7, StepActivity::kLoader);
  proportional.trace->idle.loader_s = proportional.trace->analysed_s = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    TraceStep& step = proportional.trace->steps[i];
    step.seconds *= 1.0 + static_cast<double>(i % 7);
    step.parts[static_cast<std::size_t>(StepActivity::kLoader)] = 0.3 * step.seconds;
    proportional.trace->idle.loader_s += 0.3 * step.seconds;
    proportional.trace->analysed_s += step.seconds;
  }
  const GainPrediction same = finding_of(proportional, "input-wait").gain;
  CHECK(same.known());
  CHECK(same.high - same.low < 1e-6);
  // Many steps: the interval is narrower.
  std::vector<TraceStep>& steps = profile.trace->steps;
  const std::vector<TraceStep> few = steps;
  while (steps.size() < 3000) steps.insert(steps.end(), few.begin(), few.end());
  profile.trace->idle.loader_s = 90;
  profile.trace->analysed_s = 300;
  const GainPrediction narrow = finding_of(profile, "input-wait").gain;
  CHECK(narrow.high - narrow.low < 0.3 * (gain.high - gain.low));
  // Few steps, or loader time that the parts do not show.
  steps.resize(7);
  CHECK_FALSE(finding_of(profile, "input-wait").gain.known());
  profile.trace->steps = few;
  CHECK_FALSE(finding_of(profile, "input-wait").gain.known());
}

TEST_CASE("traces that permit no conclusion") {
  RunProfile profile = training(0.85);
  profile.trace->overhead_s = 0.1;
  CHECK(found(profile) == Names{"few-steps"});
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("5 % of the time"));
  profile = training(0.85);
  profile.trace->left_out = 3;
  CHECK(found(profile) == Names{"few-steps"});
  profile = training(0.85);
  profile.trace->steps.resize(4);
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("4 steps"));
  CHECK_THAT(findings_of(profile)[0].change, Contains("profiler.step()"));
  profile.trace->format = "Nsight Systems";
  CHECK_THAT(findings_of(profile)[0].change, Contains("NVTX"));
}

TEST_CASE("a speed that changes permits no conclusion") {
  RunProfile profile = training(0.85);
  while (profile.trace->steps.size() < 240) profile.trace->steps.push_back(profile.trace->steps[0]);
  for (std::size_t i = 0; i < 240; ++i) profile.trace->steps[i].seconds = (i % 3 == 0 ? 0.098 : 0.101);
  profile.trace->analysed_s = 24;
  profile.trace->devices[0].busy_s = 20.4;
  CHECK(found(profile) == Names{});
  for (std::size_t i = 90; i < 150; ++i) profile.trace->steps[i].seconds *= 1.4;  // both halves are equal
  CHECK(found(profile) == Names{"few-steps"});
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("of 8 take 0.14 s on average"));
  // A watched run that is slow at its ends, so that its halves are equal.
  RunProfile watched;
  watched.watching.seconds = 10;
  watched.machine.affinity_cores = 8;
  watched.processes.resize(1);
  watched.processes[0].pid = 4711;
  watched.processes[0].role = ProcessRole::kMain;
  watched.processes[0].end_s = 10;
  watched.processes[0].cpu_s = watched.processes[0].busiest_thread_s = 9.9;
  watched.machine.busy_cores = 1;
  for (int i = 0; i < 360; ++i) watched.steps.seconds.push_back(i > 120 && i < 240 ? 0.007 : 0.02);
  CHECK(found(watched) == Names{"few-steps"});
  CHECK(findings_of(watched)[0].lost == 0);
  CHECK_THAT(findings_of(watched)[0].evidence, Contains("7.0 to 20.0 ms"));
  watched.machine.busy_cores = 6;  // other programs explain it
  CHECK_FALSE(found(watched).contains("few-steps"));
  watched.machine.busy_cores = 1;
  watched.steps.seconds.assign(360, 0.02);
  for (std::size_t i = 0; i < 360; i += 12) watched.steps.seconds[i] = 0.03;
  CHECK(found(watched) == Names{});
}

TEST_CASE("a recording of watch that disturbed the program permits no conclusion") {
  RunProfile profile = training(0.7);
  profile.trace->idle.launch_s = 0.6;
  profile.trace->format = "CUPTI";
  CHECK(found(profile) == Names{"launch-bound"});
  profile.trace->overhead_s = 0.1;
  CHECK(found(profile) == Names{"few-steps"});
  CHECK_THAT(findings_of(profile)[0].change, Contains("--no-cupti"));
  profile.trace->format = "Kineto";  // its cost was chosen
  CHECK(found(profile) == Names{"few-steps", "launch-bound"});
}

TEST_CASE("what stacks show explains why the accelerator waits for the host") {
  RunProfile profile = training(0.7);
  profile.trace->idle.launch_s = 0.6;  // of 2 s
  profile.trace->format = "CUPTI";
  profile.stacks.seconds = 10;
  profile.stacks.lines = {{"__next__", "torch/utils/data/dataloader.py", 5}};
  profile.stacks.stacks = {{StackThread::kMain, {0}, 1, 0, 9}};
  CHECK(finding_of(profile, "launch-bound").lost == Approx(0.2));
  profile.stacks.stacks[0].seconds = 2.5;
  CHECK_FALSE(found(profile).contains("launch-bound"));
  profile.trace->format = "Kineto";  // it knows the loader itself
  CHECK(finding_of(profile, "launch-bound").lost == Approx(0.3));
  // Rules that recommend fewer launches or copies subtract the same time.
  profile.trace->devices[0].memory_bytes = 80'000'000'000;
  profile.trace->devices[0].peak_memory_bytes = 10'000'000'000;
  profile.trace->copies = {to_device(MemoryKind::kPinned, 0.01, 0)};
  profile.trace->copies[0].count = profile.trace->copies[0].tiny = 20 * 60;
  profile.trace->runtime.copies = {20 * 60, 0.5};
  CHECK(finding_of(profile, "memory-headroom").lost == Approx(0.15));
  CHECK(finding_of(profile, "tiny-copies").lost == Approx(0.25));
  profile.trace->format = "CUPTI";
  profile.stacks.stacks[0].seconds = 1;
  CHECK(finding_of(profile, "memory-headroom").lost == Approx(0.1));
  CHECK_THAT(finding_of(profile, "memory-headroom").evidence, Contains("(20 %)"));
  CHECK(finding_of(profile, "tiny-copies").lost == Approx(0.2));
  // Of waits for the device, what remains of the shares.
  profile.trace->idle.synchronisation_s = 0.2;
  CHECK(finding_of(profile, "hidden-syncs").lost == Approx(0.1));
  profile.stacks.stacks[0].seconds = 3.5;
  CHECK(finding_of(profile, "hidden-syncs").lost == Approx(0.05));
  profile.stacks.stacks[0].seconds = 4;
  CHECK_FALSE(found(profile).contains("hidden-syncs"));
  profile.trace->idle.synchronisation_s = 0;
  profile.stacks.stacks[0].seconds = 3;
  CHECK_FALSE(found(profile).contains("memory-headroom"));
  CHECK_FALSE(found(profile).contains("tiny-copies"));
}

TEST_CASE("programs of unstarve are advised to change its own options") {
  RunProfile profile = training(0.6);
  TraceUse& trace = *profile.trace;
  trace.framework = Framework::kUnknown;
  trace.format = "CUPTI";
  profile.processes.resize(1);
  profile.processes[0].role = ProcessRole::kMain;
  profile.processes[0].threads = {{"unstarve-work", 2, 1, 0, {}}};
  trace.devices[0].matrix_s = 1;
  trace.idle = {.checkpoint_s = 0.1, .allocation_s = 0.1, .synchronisation_s = 0.1, .launch_s = 0.4};
  trace.runtime.median_kernel_s = 4e-6;
  CHECK(finding_of(profile, "tensor-cores-unused").change.starts_with("unstarve train --precision bfloat16; "));
  CHECK_THAT(finding_of(profile, "checkpoint-idle").change, Contains("--checkpoint-every"));
  CHECK_THAT(finding_of(profile, "launch-bound").change, Contains("--graph on"));
  // Without an option: a text that names no other library.
  for (const char* const rule : {"hidden-syncs", "allocations-in-steps"}) {
    const std::string change = finding_of(profile, rule).change;
    CHECK_FALSE(change.empty());
    CHECK_THAT(change, !Contains("PyTorch") && !Contains("torch.") && !Contains("JAX"));
  }
}

TEST_CASE("every change has a text for any program") {
  RunProfile profile = training(0.3, StepActivity::kCommunication);
  TraceUse& trace = *profile.trace;
  trace.framework = Framework::kUnknown;
  trace.devices[0].matrix_s = 1;
  trace.devices[0].memory_bytes = 80'000'000'000;
  trace.devices[0].peak_memory_bytes = 20'000'000'000;
  trace.idle = {0.1, 0.1, 0.1, 0.1, 0.1, 0.4};
  trace.parts[static_cast<std::size_t>(StepActivity::kCopy)] = 0.4;
  trace.copies = {to_device(MemoryKind::kPinned, 0.4, 0), to_device(MemoryKind::kPageable, 0.4, 0)};
  trace.fallback.seconds = 0.2;
  trace.unified.stalled_s = 0.2;
  CHECK(found(profile).size() >= 12);
  for (const RunFinding& finding : findings_of(profile))
    CHECK((finding.changes.by_library().empty() || !finding.changes.general.empty()));
}

TEST_CASE("a gain is limited by what remains") {
  CHECK(gain_without(0.5).gain == Approx(2));
  CHECK(gain_without(1).gain == Approx(100));
  CHECK(gain_without(0).gain == 1);
}

}  // namespace
}  // namespace unstarve
