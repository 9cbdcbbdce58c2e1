// Another program computes on a GPU of this one.

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

constexpr double kUnknownLoss = 0.05;  // chosen, if the driver does not report what the other program uses

std::optional<RunFinding> find_gpu_shared(const RunProfile& profile) {
  RunFinding finding;
  bool measured = true;
  for (const GpuUse& gpu : profile.gpus) {
    if (!gpu.used) continue;  // also where the driver's numbers of processes are not those of this container
    double taken = 0;
    std::string names;
    for (const GpuOther& other : gpu.others) {
      if (other.present < 0.1 || (other.utilisation >= 0 && other.utilisation < 0.05)) continue;
      taken += other.present * (other.utilisation >= 0 ? other.utilisation : kUnknownLoss);
      measured = measured && other.utilisation >= 0;
      names += fmt::format("{}process {}{}, {} of memory{}", names.empty() ? "" : "; ", other.pid,
                           other.name.empty() ? "" : " (" + other.name + ")",
                           format_bytes(static_cast<std::uint64_t>(other.memory_bytes)),
                           other.utilisation < 0 ? ""
                                                 : fmt::format(", {:.0f} % of the multiprocessors' time",
                                                               100 * other.present * other.utilisation));
    }
    if (names.empty()) continue;
    finding.evidence += fmt::format("{}GPU {} is used by {}", finding.evidence.empty() ? "" : "; ", gpu.index, names);
    finding.lost = std::max(finding.lost, std::min(taken, 0.9));
  }
  if (finding.evidence.empty()) return std::nullopt;
  finding.title = "another program uses the GPU";
  finding.change = "stop the other program, or use another GPU (CUDA_VISIBLE_DEVICES)";
  if (measured && finding.lost > 0.01) finding.gain = gain_without(finding.lost);
  return finding;
}

}  // namespace

const Rule kGpuShared{"gpu-shared",
                      "for 10 % of the time, another program uses a GPU of the program, and takes 5 % of the time of "
                      "its multiprocessors, or the driver does not report its share",
                      find_gpu_shared};

}  // namespace unstarve
