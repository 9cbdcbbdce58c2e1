// Memory for a larger batch is free, while launches limit.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_memory_headroom(const RunProfile& profile) {
  if (!profile.trace) return std::nullopt;
  const TraceUse& trace = *profile.trace;
  double used = 0;  // of the device that has the least free
  for (const DeviceUse& device : trace.devices) {
    if (device.busy_s <= 0) continue;
    if (device.memory_bytes <= 0 || device.peak_memory_bytes <= 0) return std::nullopt;
    used = std::max(used, static_cast<double>(device.peak_memory_bytes) / static_cast<double>(device.memory_bytes));
  }
  const double idle_s = host_idle(profile).launch_s, launch = share_of(trace, idle_s);
  if (used <= 0 || used > 0.5 || launch < 0.1) return std::nullopt;
  RunFinding finding;
  finding.title = "the memory of the accelerator permits a larger batch, with fewer launches per sample";
  finding.evidence = fmt::format(
      "at most {:.0f} % of the memory was reserved; all accelerators are idle for {}, while the host launches",
      100 * used, time_of(trace, idle_s));
  finding.changes = {"double the batch size, and scale the learning rate", "", "", "",
                     "double the batch size: unstarve train --batch N, which scales the learning rate"};
  finding.lost = launch / 2;
  finding.gain = gain_without(finding.lost);
  return finding;
}

}  // namespace

const Rule kMemoryHeadroom{"memory-headroom",
                           "at most half of the memory was reserved (in traces, requires profile_memory=True), and all "
                           "accelerators are idle for 10 % of the step because of launches",
                           find_memory_headroom};

}  // namespace unstarve
