#pragma once
// Profiles of runs with a trace, for tests of rules.
//
// Threads: one.

#include <catch2/catch.hpp>
#include <string>

#include "unstarve/diagnose/rules/testing/run_profiles.h"
#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve::testing {

// 20 steps of 100 ms on one device, which is busy for `kernel` of it; the rest of the time is `part`.
inline RunProfile training(double kernel, StepActivity part = StepActivity::kOther) {
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

inline RunFinding finding_of(const RunProfile& profile, const std::string& rule) {
  for (const RunFinding& finding : findings_of(profile))
    if (finding.rule == rule) return finding;
  FAIL("not found: " << rule);
  return {};
}

inline CopyUse to_device(MemoryKind memory, double seconds, double overlapped_s) {
  CopyUse copy;
  copy.direction = CopyDirection::kToDevice;
  copy.host_memory = memory;
  copy.count = 20;
  copy.bytes = 2'000'000'000;
  copy.seconds = seconds;
  copy.overlapped_s = overlapped_s;
  return copy;
}

}  // namespace unstarve::testing
