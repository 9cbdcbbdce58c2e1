// Every rule on traces: profiles that it must find, and profiles that it must not.
#include <catch2/catch.hpp>
#include <set>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;
using RuleNames = std::set<std::string>;

// 20 steps of 100 ms on one device, which is busy for `kernel` of it; the rest of the time is `part`.
RunProfile training(double kernel, StepActivity part = StepActivity::kOther) {
  RunProfile profile;
  TraceUse trace;
  trace.format = "Kineto";
  trace.framework = Framework::kPyTorch;
  trace.events = 1000;
  trace.observed_s = trace.analysed_s = 2;
  TraceStep step;
  step.seconds = 0.1;
  step.parts[static_cast<std::size_t>(StepActivity::kKernel)] = 0.1 * kernel;
  step.parts[static_cast<std::size_t>(part)] = 0.1 * (1 - kernel);
  trace.steps.assign(20, step);
  for (std::size_t i = 0; i < kStepActivities; ++i) trace.parts[i] = 20 * step.parts[i];
  DeviceUse device;
  device.busy_s = device.kernel_s = 2 * kernel;
  device.compute_capability = 8;
  trace.devices = {device};
  trace.runtime.kernels = 20 * 500;
  trace.runtime.median_kernel_s = 200e-6;
  profile.trace = trace;
  return profile;
}

RuleNames found(const RunProfile& profile) {
  RuleNames names;
  for (const RunFinding& finding : findings_of(profile)) {
    CHECK_FALSE(finding.title.empty());
    CHECK_FALSE(finding.evidence.empty());
    CHECK_FALSE(finding.change.empty());
    CHECK((finding.lost >= 0 && finding.lost <= 1));
    CHECK((finding.gain.gain == 0 || finding.gain.gain >= 1));
    CHECK((!finding.gain.known() || (finding.gain.low <= finding.gain.gain && finding.gain.gain <= finding.gain.high)));
    names.insert(finding.rule);
  }
  return names;
}

RunFinding finding_of(const RunProfile& profile, const std::string& rule) {
  for (const RunFinding& finding : findings_of(profile))
    if (finding.rule == rule) return finding;
  FAIL("not found: " << rule);
  return {};
}

TEST_CASE("a trace without known causes") {
  CHECK(found(training(0.85)) == RuleNames{});
  RunProfile empty;
  empty.trace = TraceUse{};
  CHECK(found(empty) == RuleNames{"few-steps"});
  CHECK(found(RunProfile{}) == RuleNames{});
}

TEST_CASE("the main thread waits for the loader") {
  RunProfile profile = training(0.7, StepActivity::kLoader);
  profile.trace->idle.loader_s = 0.6;
  profile.trace->loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
  CHECK(found(profile) == RuleNames{"input-wait"});
  RunFinding finding = findings_of(profile)[0];
  CHECK(finding.lost == Approx(0.3));
  CHECK(finding.gain.gain == Approx(1 / 0.7));
  CHECK_THAT(finding.evidence, Contains("30.0 ms of a step of 100.0 ms (30 %)"));
  CHECK_THAT(finding.change, Contains("more workers"));
  profile.trace->loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
  CHECK_THAT(findings_of(profile)[0].change, Contains("num_workers=N"));
  profile.trace->framework = Framework::kTensorFlow;
  CHECK_THAT(findings_of(profile)[0].change, Contains("prefetch(tf.data.AUTOTUNE)"));
  profile.trace->framework = Framework::kUnknown;
  CHECK_THAT(findings_of(profile)[0].change, StartsWith("prepare the next batches in other threads"));
  profile.trace->idle.loader_s = 0.09;
  CHECK(found(profile) == RuleNames{});
}

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

CopyUse to_device(MemoryKind memory, double seconds, double overlapped_s) {
  CopyUse copy;
  copy.direction = CopyDirection::kToDevice;
  copy.host_memory = memory;
  copy.count = 20;
  copy.bytes = 2'000'000'000;
  copy.seconds = seconds;
  copy.overlapped_s = overlapped_s;
  return copy;
}

TEST_CASE("copies from pageable memory") {
  RunProfile profile = training(0.8, StepActivity::kCopy);
  profile.trace->copies = {to_device(MemoryKind::kPageable, 0.4, 0)};
  CHECK(found(profile) == RuleNames{"pageable-copies"});
  const RunFinding finding = findings_of(profile)[0];
  CHECK(finding.lost == Approx(0.2));
  CHECK_THAT(finding.evidence, Contains("100.0 MB per step") && Contains("5.0 GB/s"));
  CHECK_THAT(finding.change, Contains("pin_memory=True"));
  profile.trace->copies = {to_device(MemoryKind::kPageable, 0.4, 0.38)};  // kernels hide them
  CHECK(found(profile) == RuleNames{});
}

TEST_CASE("kernels and the host wait for pages of unified memory") {
  RunProfile profile = training(0.85, StepActivity::kCopy);
  UnifiedMemoryUse& unified = profile.trace->unified;
  unified.gpu_faults = 200;
  unified.gpu_fault_s = unified.stalled_s = 0.1;
  CHECK(found(profile) == RuleNames{"unified-memory"});
  CHECK(findings_of(profile)[0].lost == Approx(0.05));
  CHECK(findings_of(profile)[0].gain.gain == Approx(1 / 0.95));
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("10.0 page faults of the accelerator and 0.0 of the host") &&
                                                   Contains("5.0 ms of a step of 100.0 ms (5 %)"));
  unified.stalled_s = 0.03;
  CHECK(found(profile) == RuleNames{});
  // The host waits for pages that are copied to it.
  profile.trace->copies = {to_device(MemoryKind::kManaged, 0.2, 0.1)};
  profile.trace->copies[0].direction = CopyDirection::kToHost;
  unified.cpu_faults = 60;
  CHECK(finding_of(profile, "unified-memory").lost == Approx(0.065));
  CHECK_THAT(finding_of(profile, "unified-memory").evidence, Contains("100.0 MB of pages per step"));
  unified.cpu_faults = 0;  // the program prefetches them
  CHECK_FALSE(found(profile).contains("unified-memory"));
  unified = {};
  CHECK_FALSE(found(profile).contains("unified-memory"));
}

TEST_CASE("copies from pinned memory that are not hidden") {
  RunProfile profile = training(0.8, StepActivity::kCopy);
  profile.trace->copies = {to_device(MemoryKind::kPinned, 0.4, 0.1)};
  CHECK(found(profile) == RuleNames{"copies-not-overlapped"});
  CHECK(findings_of(profile)[0].lost == Approx(0.15));
  profile.trace->copies = {to_device(MemoryKind::kPinned, 0.4, 0.35)};
  CHECK(found(profile) == RuleNames{});
  profile.trace->copies = {to_device(MemoryKind::kPinned, 0.4, 0)};
  profile.trace->copies[0].direction = CopyDirection::kOnDevice;
  CHECK(found(profile) == RuleNames{});
}

TEST_CASE("operators that fall back to the CPU") {
  RunProfile profile = training(0.7);
  profile.trace->fallback = {40, 0.5, 40 << 20, {{"aten::linalg_svd", 40, 0.4}, {"aten::sort", 40, 0.02}}};
  CHECK(found(profile) == RuleNames{"cpu-fallback"});
  RunFinding finding = findings_of(profile)[0];
  CHECK(finding.lost == Approx(0.25));
  CHECK_THAT(finding.evidence,
             Contains("2.0 times per step") && Contains("aten::linalg_svd (20.0 ms) and aten::sort (1.0 ms)"));
  profile.trace->fallback.operators.clear();
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("names are not in the trace"));
  profile.trace->fallback.seconds = 0.05;
  CHECK(found(profile) == RuleNames{});
}

TEST_CASE("images as float32") {
  RunProfile profile = training(0.8, StepActivity::kCopy);
  profile.trace->copies = {to_device(MemoryKind::kPinned, 0.4, 0)};
  profile.trace->image_bytes = 1'900'000'000;
  CHECK(found(profile) == RuleNames{"copies-not-overlapped", "float32-copies"});
  CHECK(finding_of(profile, "float32-copies").lost == Approx(0.75 * 0.95 * 0.2));
  profile.trace->image_bytes = 900'000'000;
  CHECK(found(profile) == RuleNames{"copies-not-overlapped"});
  profile.trace->image_bytes = 2'000'000'000;
  profile.trace->copies = {to_device(MemoryKind::kPinned, 0.4, 0.39)};
  CHECK(found(profile) == RuleNames{});
}

TEST_CASE("tiny copies") {
  RunProfile profile = training(0.85);
  CopyUse copy = to_device(MemoryKind::kPinned, 0.01, 0);
  copy.count = copy.tiny = 20 * 60;
  profile.trace->copies = {copy};
  profile.trace->runtime.copies = {20 * 60, 0.1};
  profile.trace->idle.launch_s = 0.15;
  CHECK(found(profile) == RuleNames{"tiny-copies"});
  CHECK(findings_of(profile)[0].lost == Approx(0.05));
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("60 copies"));
  profile.trace->idle.launch_s = 0;  // the device does not wait for them
  CHECK(found(profile) == RuleNames{});
  profile.trace->idle.launch_s = 0.15;
  profile.trace->copies[0].tiny = 20 * 5;
  CHECK(found(profile) == RuleNames{});
}

TEST_CASE("launches") {
  RunProfile profile = training(0.6, StepActivity::kRuntime);
  profile.trace->idle.launch_s = 0.8;
  profile.trace->runtime.median_kernel_s = 4e-6;
  CHECK(found(profile) == RuleNames{"launch-bound"});
  CHECK(findings_of(profile)[0].gain.gain == Approx(1 / 0.6));
  CHECK_THAT(findings_of(profile)[0].change, Contains("torch.compile"));
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("500 kernels per step"));
  RunProfile without_steps = profile;
  without_steps.trace->format = "CUPTI";
  without_steps.trace->steps.clear();
  CHECK_THAT(finding_of(without_steps, "launch-bound").evidence,
             Contains("5000 kernels per second") && !Contains("step"));
  profile.trace->runtime.median_kernel_s = 400e-6;
  profile.trace->operators = {{"aten::nonzero", 20, 0.3}};
  CHECK_THAT(findings_of(profile)[0].title, Contains("other work"));
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("aten::nonzero"));
  profile.trace->idle.launch_s = 0.15;
  CHECK(found(profile) == RuleNames{});
  profile.trace->idle.launch_s = 0.8;
  profile.trace->runtime.kernels = 0;
  CHECK(found(profile) == RuleNames{});
}

TEST_CASE("memory for a larger batch") {
  RunProfile profile = training(0.6, StepActivity::kRuntime);
  profile.trace->idle.launch_s = 0.8;
  profile.trace->devices[0].memory_bytes = 80'000'000'000;
  profile.trace->devices[0].peak_memory_bytes = 20'000'000'000;
  CHECK(found(profile) == RuleNames{"launch-bound", "memory-headroom"});
  CHECK(finding_of(profile, "memory-headroom").lost == Approx(0.2));
  profile.trace->devices[0].peak_memory_bytes = 60'000'000'000;
  CHECK(found(profile) == RuleNames{"launch-bound"});
  profile.trace->devices[0].peak_memory_bytes = 20'000'000'000;
  profile.trace->idle.launch_s = 0.1;
  CHECK(found(profile) == RuleNames{});
}

TEST_CASE("synchronisations") {
  RunProfile profile = training(0.85);
  profile.trace->idle.synchronisation_s = 0.2;
  profile.trace->runtime.synchronisations = {60, 1};
  CHECK(found(profile) == RuleNames{"hidden-syncs"});
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("3.0 synchronisations"));
  profile.trace->idle.synchronisation_s = 0.05;  // one at the end of each step, with little effect
  CHECK(found(profile) == RuleNames{});
}

TEST_CASE("tensor cores") {
  RunProfile profile = training(0.85);
  profile.trace->devices[0].matrix_s = 1;
  CHECK(found(profile) == RuleNames{"tensor-cores-unused"});
  CHECK(findings_of(profile)[0].lost == Approx(0.25));
  CHECK(findings_of(profile)[0].gain.low == Approx(1 / 0.75));
  CHECK(findings_of(profile)[0].gain.high == Approx(2));
  CHECK_THAT(findings_of(profile)[0].change, Contains("bfloat16"));
  profile.trace->devices[0].compute_capability = 7;
  CHECK_THAT(findings_of(profile)[0].change, Contains("float16") && !Contains("bfloat16"));
  profile.trace->devices[0].compute_capability = 6.1;  // has none
  CHECK(found(profile) == RuleNames{});
  profile.trace->devices[0].compute_capability = 0;  // unknown
  CHECK(found(profile) == RuleNames{});
  profile.trace->devices[0].compute_capability = 9;
  profile.trace->devices[0].tensor_core_s = 0.7;
  CHECK(found(profile) == RuleNames{});
  profile.trace->devices[0].tensor_core_s = 0;
  profile.trace->devices[0].matrix_s = 0.3;
  CHECK(found(profile) == RuleNames{});
}

TEST_CASE("sizes that are no multiples of 8") {
  RunProfile profile = training(0.85);
  profile.trace->devices[0].matrix_s = 1;
  profile.trace->devices[0].tensor_core_s = 0.8;
  profile.trace->arithmetic = {100, 1e12, 0, 4e11};
  REQUIRE(found(profile) == RuleNames{"misaligned-shapes"});
  CHECK(findings_of(profile)[0].lost == Approx(0.5 * 0.4));
  CHECK_THAT(findings_of(profile)[0].evidence, StartsWith("40 % of the operations"));
  profile.trace->arithmetic.misaligned_16 = 1e11;
  CHECK(found(profile) == RuleNames{});
  profile.trace->arithmetic = {100, 0, 1e12, 0};  // numbers of 32 bits
  CHECK(found(profile) == RuleNames{});
  profile.trace->arithmetic = {100, 1e12, 0, 4e11};
  profile.trace->devices[0].matrix_s = 0.3;  // a small part of the time
  CHECK(found(profile) == RuleNames{});
}

TEST_CASE("code that is loaded within steps") {
  RunProfile profile = training(0.85);
  profile.trace->runtime.module_loading_s = 0.04 * profile.trace->analysed_s;
  REQUIRE(found(profile) == RuleNames{"module-loading"});
  CHECK(findings_of(profile)[0].lost == Approx(0.04));
  CHECK_THAT(findings_of(profile)[0].change, Catch::Contains("CUDA_MODULE_LOADING=EAGER"));
  profile.trace->runtime.module_loading_s = 0.02 * profile.trace->analysed_s;
  CHECK(found(profile) == RuleNames{});
}

TEST_CASE("allocations, checkpoints and logging") {
  RunProfile profile = training(0.85);
  profile.trace->idle.allocation_s = 0.1;
  profile.trace->runtime.allocations = {400, 0.1};
  CHECK(found(profile) == RuleNames{"allocations-in-steps"});
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("20.0 calls per step"));
  profile.trace->idle.allocation_s = 0.03;
  CHECK(found(profile) == RuleNames{});
  profile.trace->idle.checkpoint_s = 0.2;
  CHECK(found(profile) == RuleNames{"checkpoint-idle"});
  profile.trace->idle.checkpoint_s = 0.03;
  CHECK(found(profile) == RuleNames{});
  profile.trace->idle.logging_s = 0.2;
  CHECK(found(profile) == RuleNames{"logging-idle"});
  profile.trace->idle.logging_s = 0.03;
  CHECK(found(profile) == RuleNames{});
}

TEST_CASE("steps of different duration") {
  RunProfile profile = training(0.85);
  const auto lengthen = [&](std::size_t step) {
    profile.trace->steps[step].seconds += 0.1;
    profile.trace->steps[step].parts[static_cast<std::size_t>(StepActivity::kLoader)] += 0.1;
    profile.trace->parts[static_cast<std::size_t>(StepActivity::kLoader)] += 0.1;
    profile.trace->analysed_s += 0.1;
  };
  lengthen(4);
  CHECK(found(profile) == RuleNames{});
  lengthen(9);
  lengthen(14);
  CHECK(found(profile) == RuleNames{"step-outliers"});
  CHECK(findings_of(profile)[0].lost == Approx(0.3 / 2.3));
  CHECK_THAT(findings_of(profile)[0].evidence,
             Contains("3 of 20 steps") && Contains("one in 5") && Contains("the part that is longer: loader"));
  lengthen(15);
  CHECK_THAT(findings_of(profile)[0].evidence, !Contains("one in"));
  profile.trace->steps.resize(6);
  CHECK(found(profile) == RuleNames{});
  profile = training(0.85);
  for (int i = 0; i < 3; ++i) lengthen(4);
  CHECK_THAT(findings_of(profile)[0].evidence, StartsWith("1 of 20 steps takes more than 1.5 times"));
}

TEST_CASE("communication") {
  RunProfile profile = training(0.8, StepActivity::kCommunication);
  profile.trace->devices[0].collective_s = 0.8;
  CHECK(found(profile) == RuleNames{"communication-exposed"});
  CHECK(findings_of(profile)[0].lost == Approx(0.2));
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("50 % of their time"));
  CHECK(found(training(0.97, StepActivity::kCommunication)) == RuleNames{"accelerator-full"});
}

TEST_CASE("the share of the peak arithmetic of a busy accelerator") {
  RunProfile profile = training(0.96);
  TraceUse& trace = *profile.trace;
  trace.format = "Kineto";
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("record_shapes=True"));
  trace.arithmetic = {100, 78e12 * trace.analysed_s, 0};
  trace.devices[0].name = "an accelerator";
  CHECK_THAT(findings_of(profile)[0].evidence, EndsWith("matrix products and convolutions: 78 TFLOP/s"));
  trace.devices[0].name = "NVIDIA A100-SXM4-80GB";  // 312
  CHECK_THAT(findings_of(profile)[0].evidence, EndsWith("78 TFLOP/s, 25 % of the peak of this device"));
  CHECK(findings_of(profile)[0].gain.gain == Approx(4));  // at the peak
  trace.devices[0].name = "NVIDIA A10G";                  // not an A10
  CHECK_THAT(findings_of(profile)[0].evidence, EndsWith("78 TFLOP/s"));
  trace.devices[0].name = "NVIDIA H100 PCIe";
  trace.arithmetic = {100, 378e12 * trace.analysed_s, 189e12 * trace.analysed_s};
  CHECK_THAT(findings_of(profile)[0].evidence, EndsWith("100 % of the peak of this device"));
  DeviceUse copies;  // only copies
  copies.index = 1;
  trace.devices.insert(trace.devices.begin(), copies);
  CHECK_THAT(findings_of(profile)[0].evidence, EndsWith("100 % of the peak of this device"));
  trace.devices[0].busy_s = trace.devices[1].busy_s;
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("TFLOP/s"));
  trace.devices[0].name = trace.devices[1].name;
  CHECK_THAT(findings_of(profile)[0].evidence, EndsWith("50 % of the peak of these devices"));
}

TEST_CASE("an accelerator that is busy all the time") {
  RunProfile profile = training(0.96);
  profile.trace->kernels = {{"gemm", 10, 1}, {"add", 100, 0.5}};
  CHECK(found(profile) == RuleNames{"accelerator-full"});
  CHECK_THAT(findings_of(profile)[0].title, Contains("96 %"));
  CHECK_THAT(findings_of(profile)[0].change, StartsWith("stop here: a better loader, copies and launches together gain "
                                                        "less than 5 %"));
  CHECK(findings_of(profile)[0].gain.gain == 0);
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("gemm 50 %, add 25 %"));
  profile.trace->devices.push_back(DeviceUse{});  // another one, which only copies
  CHECK(found(profile) == RuleNames{"accelerator-full"});
  profile.trace->devices[1].busy_s = 0.5;
  CHECK(found(profile) == RuleNames{});
}

TEST_CASE("traces that permit no conclusion") {
  RunProfile profile = training(0.85);
  profile.trace->overhead_s = 0.1;
  CHECK(found(profile) == RuleNames{"few-steps"});
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("5 % of the time"));
  profile = training(0.85);
  profile.trace->left_out = 3;
  CHECK(found(profile) == RuleNames{"few-steps"});
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
  CHECK(found(profile) == RuleNames{});
  for (std::size_t i = 90; i < 150; ++i) profile.trace->steps[i].seconds *= 1.4;  // both halves are equal
  CHECK(found(profile) == RuleNames{"few-steps"});
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
  CHECK(found(watched) == RuleNames{"few-steps"});
  CHECK(findings_of(watched)[0].lost == 0);
  CHECK_THAT(findings_of(watched)[0].evidence, Contains("7.0 to 20.0 ms"));
  watched.machine.busy_cores = 6;  // other programs explain it
  CHECK_FALSE(found(watched).contains("few-steps"));
  watched.machine.busy_cores = 1;
  watched.steps.seconds.assign(360, 0.02);
  for (std::size_t i = 0; i < 360; i += 12) watched.steps.seconds[i] = 0.03;
  CHECK(found(watched) == RuleNames{});
}

TEST_CASE("a recording of watch that disturbed the program permits no conclusion") {
  RunProfile profile = training(0.7);
  profile.trace->idle.launch_s = 0.6;
  profile.trace->format = "CUPTI";
  CHECK(found(profile) == RuleNames{"launch-bound"});
  profile.trace->overhead_s = 0.1;
  CHECK(found(profile) == RuleNames{"few-steps"});
  CHECK_THAT(findings_of(profile)[0].change, Contains("--no-cupti"));
  profile.trace->format = "Kineto";  // its cost was chosen
  CHECK(found(profile) == RuleNames{"few-steps", "launch-bound"});
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
