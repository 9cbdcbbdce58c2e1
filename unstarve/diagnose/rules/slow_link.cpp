// A GPU is connected by a slower link than card and slot permit, or to another CPU socket than that of its process.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

constexpr double kLost = 0.05;  // chosen: how much time copies take is unknown

std::optional<RunFinding> find_slow_link(const RunProfile& profile) {
  RunFinding finding;
  bool narrow = false;
  const auto add = [&](const std::string& text) { finding.evidence += (finding.evidence.empty() ? "" : "; ") + text; };
  for (const GpuUse& gpu : gpus_of_program(profile.gpus)) {
    // An idle GPU lowers the generation of its link.
    if (gpu.busy_samples < kFewestBusySamples) continue;
    const bool slow = gpu.link_generation > 0 && gpu.link_generation < gpu.link_generation_most;
    if (slow || (gpu.link_lanes > 0 && gpu.link_lanes < gpu.link_lanes_most)) {
      narrow = true;
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
  finding.title = narrow ? "batches are copied to the GPU over a slower PCIe link than it supports"
                         : "batches are copied to the GPU from another NUMA node";
  if (narrow) {
    finding.change = "use a slot with all lanes, reseat the card, and check the firmware settings" +
                     (finding.change.empty() ? "" : "; " + finding.change);
  }
  finding.lost = kLost;
  return finding;
}

}  // namespace

const Rule kSlowLink{"slow-link",
                     "while a GPU of the program is busy, its PCIe link has fewer lanes or a lower generation than the "
                     "card and the slot support; or the program is bound to CPUs of another NUMA node than the GPU",
                     find_slow_link};

}  // namespace unstarve
