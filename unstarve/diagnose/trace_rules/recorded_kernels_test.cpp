// What watch recorded of real programs (tests/fixtures/traces).
#include <catch2/catch.hpp>
#include <vector>

#include "unstarve/core/statistics.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/trace_rules/trace_summary.h"
#include "unstarve/diagnose/traces/kernel_logs.h"

namespace unstarve {
namespace {

TEST_CASE("kernels of ResNet-18 on an H100, which they keep busy") {
  INFO("tests run in the root of the source tree");
  const RecordedKernels recorded =
      read_kernel_logs("tests/fixtures/traces", [](std::uint32_t) { return std::vector<double>(); });
  CHECK(recorded.missing.empty());
  REQUIRE(recorded.trace);
  CHECK(recorded.pci_addresses == std::map<int, std::string>{{0, "0000:00:06.0"}});
  RunProfile profile;
  profile.trace = recorded.trace;
  const TraceUse& trace = *profile.trace;
  REQUIRE(trace.processes.size() == 1);
  CHECK(trace.processes[0].pid == 7537);
  CHECK(trace.steps.size() >= 8);  // by the sequence of kernels
  std::vector<double> seconds;
  for (const TraceStep& step : trace.steps) seconds.push_back(step.seconds);
  CHECK(median(seconds) == Approx(0.017).epsilon(0.03));
  CHECK(recorded.first_step_s > 0);
  REQUIRE(trace.devices.size() == 1);
  CHECK(trace.devices[0].name == "NVIDIA H100 80GB HBM3");
  CHECK(trace.devices[0].compute_capability == Approx(9));
  CHECK(share_of(trace, trace.devices[0].busy_s) == Approx(0.97).margin(0.015));
  REQUIRE_FALSE(trace.kernels.empty());
  CHECK_THAT(trace.kernels[0].name, Catch::StartsWith("void cudnn::batchnorm_bwtr_nhwc_semiPersist<float, float"));
  const std::vector<RunFinding> findings = findings_of(profile);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].rule == "accelerator-full");
}

}  // namespace
}  // namespace unstarve
