// The accelerator works nearly all the time: input, copies and launches are not the limit.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find(const RunProfile& profile) {
  if (!profile.trace) return std::nullopt;
  const TraceUse& trace = *profile.trace;
  double busy = 1;
  bool used = false;
  for (const DeviceUse& device : trace.devices) {
    if (device.busy_s <= 0) continue;
    busy = std::min(busy, share_of(trace, device.busy_s) - share_of(trace, StepActivity::kCommunication));
    used = true;
  }
  if (!used || busy < 0.9) return std::nullopt;
  RunFinding finding;
  finding.title =
      fmt::format("the accelerator is busy for {:.0f} % of the time; a faster loader would not help", 100 * busy);
  finding.evidence = "the time of kernels by name:";
  for (std::size_t i = 0; i < std::min<std::size_t>(trace.kernels.size(), 3); ++i) {
    finding.evidence += fmt::format("{} {} {:.0f} %", i > 0 ? "," : "", trace.kernels[i].name.substr(0, 60),
                                    100 * share_of(trace, trace.kernels[i].seconds));
  }
  finding.change =
      "only faster kernels (lower precision, compilation, another network), a faster accelerator or more of them make "
      "the program faster";
  return finding;
}

}  // namespace

extern const Rule kAcceleratorFull;
const Rule kAcceleratorFull{"accelerator-full", "on every accelerator that is used, a kernel runs for 90 % of the time",
                            find};

}  // namespace unstarve
