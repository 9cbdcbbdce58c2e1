// Every rule on traces: profiles that it must find, and profiles that it must not.
#include <catch2/catch.hpp>

#include "unstarve/diagnose/trace_rules/testing/trace_profiles.h"

namespace unstarve {
namespace {

using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;
using namespace testing;

TEST_CASE("a trace without known causes") {
  CHECK(found(training(0.85)) == Names{});
  RunProfile empty;
  empty.trace = TraceUse{};
  CHECK(found(empty) == Names{"few-steps"});
  CHECK(found(RunProfile{}) == Names{});
}

TEST_CASE("the main thread waits for the loader") {
  RunProfile profile = training(0.7, StepActivity::kLoader);
  profile.trace->idle.loader_s = 0.6;
  profile.trace->loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
  CHECK(found(profile) == Names{"input-wait"});
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
  CHECK(found(profile) == Names{});
}

TEST_CASE("copies from pageable memory") {
  RunProfile profile = training(0.8, StepActivity::kCopy);
  profile.trace->copies = {to_device(MemoryKind::kPageable, 0.4, 0)};
  CHECK(found(profile) == Names{"pageable-copies"});
  const RunFinding finding = findings_of(profile)[0];
  CHECK(finding.lost == Approx(0.2));
  CHECK_THAT(finding.evidence, Contains("100.0 MB per step") && Contains("5.0 GB/s"));
  CHECK_THAT(finding.change, Contains("pin_memory=True"));
  profile.trace->copies = {to_device(MemoryKind::kPageable, 0.4, 0.38)};  // kernels hide them
  CHECK(found(profile) == Names{});
}

TEST_CASE("kernels and the host wait for pages of unified memory") {
  RunProfile profile = training(0.85, StepActivity::kCopy);
  UnifiedMemoryUse& unified = profile.trace->unified;
  unified.gpu_faults = 200;
  unified.gpu_fault_s = unified.stalled_s = 0.1;
  CHECK(found(profile) == Names{"unified-memory"});
  CHECK(findings_of(profile)[0].lost == Approx(0.05));
  CHECK(findings_of(profile)[0].gain.gain == Approx(1 / 0.95));
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("10.0 page faults of the accelerator and 0.0 of the host") &&
                                                   Contains("5.0 ms of a step of 100.0 ms (5 %)"));
  unified.stalled_s = 0.03;
  CHECK(found(profile) == Names{});
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
  CHECK(found(profile) == Names{"copies-not-overlapped"});
  CHECK(findings_of(profile)[0].lost == Approx(0.15));
  profile.trace->copies = {to_device(MemoryKind::kPinned, 0.4, 0.35)};
  CHECK(found(profile) == Names{});
  profile.trace->copies = {to_device(MemoryKind::kPinned, 0.4, 0)};
  profile.trace->copies[0].direction = CopyDirection::kOnDevice;
  CHECK(found(profile) == Names{});
}

TEST_CASE("operators that fall back to the CPU") {
  RunProfile profile = training(0.7);
  profile.trace->fallback = {40, 0.5, 40 << 20, {{"aten::linalg_svd", 40, 0.4}, {"aten::sort", 40, 0.02}}};
  CHECK(found(profile) == Names{"cpu-fallback"});
  RunFinding finding = findings_of(profile)[0];
  CHECK(finding.lost == Approx(0.25));
  CHECK_THAT(finding.evidence,
             Contains("2.0 times per step") && Contains("aten::linalg_svd (20.0 ms) and aten::sort (1.0 ms)"));
  profile.trace->fallback.operators.clear();
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("names are not in the trace"));
  profile.trace->fallback.seconds = 0.05;
  CHECK(found(profile) == Names{});
}

TEST_CASE("images as float32") {
  RunProfile profile = training(0.8, StepActivity::kCopy);
  profile.trace->copies = {to_device(MemoryKind::kPinned, 0.4, 0)};
  profile.trace->image_bytes = 1'900'000'000;
  CHECK(found(profile) == Names{"copies-not-overlapped", "float32-copies"});
  CHECK(finding_of(profile, "float32-copies").lost == Approx(0.75 * 0.95 * 0.2));
  profile.trace->image_bytes = 900'000'000;
  CHECK(found(profile) == Names{"copies-not-overlapped"});
  profile.trace->image_bytes = 2'000'000'000;
  profile.trace->copies = {to_device(MemoryKind::kPinned, 0.4, 0.39)};
  CHECK(found(profile) == Names{});
}

TEST_CASE("tiny copies") {
  RunProfile profile = training(0.85);
  CopyUse copy = to_device(MemoryKind::kPinned, 0.01, 0);
  copy.count = copy.tiny = 20 * 60;
  profile.trace->copies = {copy};
  profile.trace->runtime.copies = {20 * 60, 0.1};
  profile.trace->idle.launch_s = 0.15;
  CHECK(found(profile) == Names{"tiny-copies"});
  CHECK(findings_of(profile)[0].lost == Approx(0.05));
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("60 copies"));
  profile.trace->idle.launch_s = 0;  // the device does not wait for them
  CHECK(found(profile) == Names{});
  profile.trace->idle.launch_s = 0.15;
  profile.trace->copies[0].tiny = 20 * 5;
  CHECK(found(profile) == Names{});
}

TEST_CASE("launches") {
  RunProfile profile = training(0.6, StepActivity::kRuntime);
  profile.trace->idle.launch_s = 0.8;
  profile.trace->runtime.median_kernel_s = 4e-6;
  CHECK(found(profile) == Names{"launch-bound"});
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
  CHECK(found(profile) == Names{});
  profile.trace->idle.launch_s = 0.8;
  profile.trace->runtime.kernels = 0;
  CHECK(found(profile) == Names{});
}

TEST_CASE("memory for a larger batch") {
  RunProfile profile = training(0.6, StepActivity::kRuntime);
  profile.trace->idle.launch_s = 0.8;
  profile.trace->devices[0].memory_bytes = 80'000'000'000;
  profile.trace->devices[0].peak_memory_bytes = 20'000'000'000;
  CHECK(found(profile) == Names{"launch-bound", "memory-headroom"});
  CHECK(finding_of(profile, "memory-headroom").lost == Approx(0.2));
  profile.trace->devices[0].peak_memory_bytes = 60'000'000'000;
  CHECK(found(profile) == Names{"launch-bound"});
  profile.trace->devices[0].peak_memory_bytes = 20'000'000'000;
  profile.trace->idle.launch_s = 0.1;
  CHECK(found(profile) == Names{});
}

TEST_CASE("synchronisations") {
  RunProfile profile = training(0.85);
  profile.trace->idle.synchronisation_s = 0.2;
  profile.trace->runtime.synchronisations = {60, 1};
  CHECK(found(profile) == Names{"hidden-syncs"});
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("3.0 synchronisations"));
  profile.trace->idle.synchronisation_s = 0.05;  // one at the end of each step, with little effect
  CHECK(found(profile) == Names{});
}

TEST_CASE("tensor cores") {
  RunProfile profile = training(0.85);
  profile.trace->devices[0].matrix_s = 1;
  CHECK(found(profile) == Names{"tensor-cores-unused"});
  CHECK(findings_of(profile)[0].lost == Approx(0.25));
  CHECK(findings_of(profile)[0].gain.low == Approx(1 / 0.75));
  CHECK(findings_of(profile)[0].gain.high == Approx(2));
  CHECK_THAT(findings_of(profile)[0].change, Contains("bfloat16"));
  CHECK_THAT(findings_of(profile)[0].title, StartsWith("matrix products"));
  CHECK_THAT(findings_of(profile)[0].evidence, !Contains("XLA"));
  profile.trace->kernels = {{"gemm_fusion_dot_13", 10, 0.8}, {"fusion_2", 10, 0.1}, {"triton_gemm_1", 10, 0.4}};
  CHECK(findings_of(profile)[0].lost == Approx(0.25));
  CHECK_THAT(findings_of(profile)[0].title, StartsWith("some matrix products"));
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("XLA generates take a further 60 %"));
  profile.trace->devices[0].matrix_s = 0;  // only products of unknown kind
  CHECK(found(profile) == Names{});
  profile.trace->devices[0].matrix_s = 1;
  profile.trace->kernels.clear();
  profile.trace->devices[0].compute_capability = 7;
  CHECK_THAT(findings_of(profile)[0].change, Contains("float16") && !Contains("bfloat16"));
  profile.trace->devices[0].compute_capability = 6.1;  // has none
  CHECK(found(profile) == Names{});
  profile.trace->devices[0].compute_capability = 0;  // unknown
  CHECK(found(profile) == Names{});
  profile.trace->devices[0].compute_capability = 9;
  profile.trace->devices[0].tensor_core_s = 0.7;
  CHECK(found(profile) == Names{});
  profile.trace->devices[0].tensor_core_s = 0;
  profile.trace->devices[0].matrix_s = 0.3;
  CHECK(found(profile) == Names{});
}

TEST_CASE("sizes that are no multiples of 8") {
  RunProfile profile = training(0.85);
  profile.trace->devices[0].matrix_s = 1;
  profile.trace->devices[0].tensor_core_s = 0.8;
  profile.trace->arithmetic = {100, 1e12, 0, 4e11};
  REQUIRE(found(profile) == Names{"misaligned-shapes"});
  CHECK(findings_of(profile)[0].lost == Approx(0.5 * 0.4));
  CHECK_THAT(findings_of(profile)[0].evidence, StartsWith("40 % of the operations"));
  profile.trace->arithmetic.misaligned_16 = 1e11;
  CHECK(found(profile) == Names{});
  profile.trace->arithmetic = {100, 0, 1e12, 0};  // numbers of 32 bits
  CHECK(found(profile) == Names{});
  profile.trace->arithmetic = {100, 1e12, 0, 4e11};
  profile.trace->devices[0].matrix_s = 0.3;  // a small part of the time
  CHECK(found(profile) == Names{});
}

TEST_CASE("code that is loaded within steps") {
  RunProfile profile = training(0.85);
  profile.trace->runtime.module_loading_s = 0.04 * profile.trace->analysed_s;
  REQUIRE(found(profile) == Names{"module-loading"});
  CHECK(findings_of(profile)[0].lost == Approx(0.04));
  CHECK_THAT(findings_of(profile)[0].change, Catch::Contains("CUDA_MODULE_LOADING=EAGER"));
  profile.trace->runtime.module_loading_s = 0.02 * profile.trace->analysed_s;
  CHECK(found(profile) == Names{});
}

TEST_CASE("allocations, checkpoints and logging") {
  RunProfile profile = training(0.85);
  profile.trace->idle.allocation_s = 0.1;
  profile.trace->runtime.allocations = {400, 0.1};
  CHECK(found(profile) == Names{"allocations-in-steps"});
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("20.0 calls per step"));
  profile.trace->idle.allocation_s = 0.03;
  CHECK(found(profile) == Names{});
  profile.trace->idle.checkpoint_s = 0.2;
  CHECK(found(profile) == Names{"checkpoint-idle"});
  profile.trace->idle.checkpoint_s = 0.03;
  CHECK(found(profile) == Names{});
  profile.trace->idle.logging_s = 0.2;
  CHECK(found(profile) == Names{"logging-idle"});
  profile.trace->idle.logging_s = 0.03;
  CHECK(found(profile) == Names{});
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
  CHECK(found(profile) == Names{});
  lengthen(9);
  lengthen(14);
  CHECK(found(profile) == Names{"step-outliers"});
  CHECK(findings_of(profile)[0].lost == Approx(0.3 / 2.3));
  CHECK_THAT(findings_of(profile)[0].evidence,
             Contains("3 of 20 steps") && Contains("one in 5") && Contains("the part that is longer: loader"));
  lengthen(15);
  CHECK_THAT(findings_of(profile)[0].evidence, !Contains("one in"));
  profile.trace->steps.resize(6);
  CHECK(found(profile) == Names{});
  profile = training(0.85);
  for (int i = 0; i < 3; ++i) lengthen(4);
  CHECK_THAT(findings_of(profile)[0].evidence, StartsWith("1 of 20 steps takes more than 1.5 times"));
}

TEST_CASE("communication") {
  RunProfile profile = training(0.8, StepActivity::kCommunication);
  profile.trace->devices[0].collective_s = 0.8;
  CHECK(found(profile) == Names{"communication-exposed"});
  CHECK(findings_of(profile)[0].lost == Approx(0.2));
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("50 % of their time"));
  CHECK(found(training(0.97, StepActivity::kCommunication)) == Names{"accelerator-full"});
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
  CHECK(found(profile) == Names{"accelerator-full"});
  CHECK_THAT(findings_of(profile)[0].title, Contains("96 %"));
  CHECK_THAT(findings_of(profile)[0].change, StartsWith("stop here: a better loader, copies and launches together gain "
                                                        "less than 5 %"));
  CHECK(findings_of(profile)[0].gain.gain == 0);
  CHECK_THAT(findings_of(profile)[0].evidence, Contains("gemm 50 %, add 25 %"));
  profile.trace->devices.push_back(DeviceUse{});  // another one, which only copies
  CHECK(found(profile) == Names{"accelerator-full"});
  profile.trace->devices[1].busy_s = 0.5;
  CHECK(found(profile) == Names{});
}

}  // namespace
}  // namespace unstarve
