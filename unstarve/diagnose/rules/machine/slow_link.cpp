// A GPU is connected by a slower link than card and slot permit, or to another CPU socket than that of its process.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

// Copies to GPUs in which no kernel runs, a share of the time; negative: no kernels were recorded.
double exposed_copies(const RunProfile& profile) {
  if (!profile.trace || profile.trace->analysed_s <= 0) return -1;
  double seconds = 0;
  for (const CopyUse& copy : profile.trace->copies)
    if (copy.direction == CopyDirection::kToDevice) seconds += copy.seconds - copy.overlapped_s;
  const double part = profile.trace->parts[static_cast<std::size_t>(StepActivity::kCopy)];
  return std::clamp(std::min(seconds, part) / profile.trace->analysed_s, 0.0, 1.0);
}

// The rate of the link, relative to that which card and slot permit: it doubles with each generation.
double relative_rate(const GpuUse& gpu) {
  double rate = 1;
  if (gpu.link_lanes > 0 && gpu.link_lanes < gpu.link_lanes_most)
    rate = static_cast<double>(gpu.link_lanes) / gpu.link_lanes_most;
  if (gpu.link_generation > 0 && gpu.link_generation < gpu.link_generation_most)
    rate *= std::exp2(gpu.link_generation - gpu.link_generation_most);
  return rate;
}

std::optional<RunFinding> find_slow_link(const RunProfile& profile) {
  RunFinding finding;
  double slowest = 1;
  const auto add = [&](const std::string& text) { finding.evidence += (finding.evidence.empty() ? "" : "; ") + text; };
  for (const GpuUse& gpu : gpus_of_program(profile.gpus)) {
    // An idle GPU lowers the generation of its link.
    if (gpu.busy_samples < kFewestBusySamples) continue;
    if (const double rate = relative_rate(gpu); rate < 1) {
      slowest = std::min(slowest, rate);
      add(fmt::format("under load, the PCIe link of GPU {} uses at most generation {} of {} and {} of {} lanes",
                      gpu.index, gpu.link_generation, gpu.link_generation_most, gpu.link_lanes, gpu.link_lanes_most));
    }
    const std::vector<int>& nodes = gpu.process_nodes;
    if (gpu.numa_node >= 0 && !nodes.empty() && std::ranges::find(nodes, gpu.numa_node) == nodes.end()) {
      add(fmt::format("GPU {} is connected to NUMA node {}, but the process that uses it is bound to CPUs of node {}",
                      gpu.index, gpu.numa_node, fmt::join(nodes, ", ")));
      finding.change = fmt::format("start the process with numactl --cpunodebind={0} --membind={0}", gpu.numa_node);
    }
  }
  if (finding.evidence.empty()) return std::nullopt;
  const bool narrow = slowest < 1;
  finding.title = narrow ? "batches are copied to the GPU over a slower PCIe link than it supports"
                         : "batches are copied to the GPU from another NUMA node";
  if (narrow) {
    finding.change = "use a slot with all lanes, reseat the card, and check the firmware settings" +
                     (finding.change.empty() ? "" : "; " + finding.change);
  }
  const double exposed = exposed_copies(profile);
  if (exposed < 0) {
    add("how much time the copies take is unknown, because no kernels were recorded");
    return finding;
  }
  add(fmt::format("kernels wait for copies to GPUs for {:.0f} % of the time", 100 * exposed));
  if (!narrow) return finding;  // how much faster the memory of the other node is, is unknown
  finding.lost = exposed * (1 - slowest);
  finding.gain = gain_without(finding.lost);
  return finding;
}

}  // namespace

const Rule kSlowLink{"slow-link",
                     "while a GPU of the program is busy, its PCIe link has fewer lanes or a lower generation than the "
                     "card and the slot support; or the program is bound to CPUs of another NUMA node than the GPU",
                     find_slow_link};

}  // namespace unstarve
