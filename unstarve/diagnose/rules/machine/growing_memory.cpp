// The memory of the main process grows all the time: something keeps every step's graph or batches.

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "unstarve/core/statistics.h"
#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/rule.h"
#include "unstarve/diagnose/rules/summary.h"

namespace unstarve {
namespace {

constexpr std::size_t kParts = 5;
constexpr double kFast = 0.5;  // growth, as a share of the memory after the first fifth

// The gain, at least: the kernel needs time for new pages, and steps may have become slower. How much slower code
// is in fresh memory, and how long the memory suffices, is unknown.
double least_gain(const RunProfile& profile) {
  constexpr double kNewPage = 2.2e-6;  // seconds, measured in a virtual machine
  double gain = 1;
  if (const RoleSum main = sum_of(profile, ProcessRole::kMain); main.lived_s > 0) {
    const double pages_s = std::min(main.system_s, kNewPage * static_cast<double>(main.minor_faults));
    gain = gain_without(pages_s / main.lived_s).gain;
  }
  const std::vector<double>& steps = profile.steps.seconds;
  if (const std::size_t size = steps.size() / kParts; size >= 10) {
    const auto median_of = [&](std::size_t part) { return median(std::span(steps).subspan(part * size, size)); };
    double mean = 0;  // without the first part, which contains the start of the program
    for (std::size_t part = 1; part < kParts; ++part) mean += median_of(part) / (kParts - 1);
    if (const double early = median_of(1); early > 0) gain = std::max(gain, mean / early);
  }
  return gain;
}

std::optional<RunFinding> find_growing_memory(const RunProfile& profile) {
  const std::vector<double>& resident = profile.timeline.resident_bytes;
  if (resident.size() < 2 * kParts) return std::nullopt;
  // Means of equal parts of the run; the first contains the start of the program.
  double mean[kParts] = {};
  const std::size_t size = resident.size() / kParts;
  for (std::size_t part = 0; part < kParts; ++part)
    for (std::size_t i = 0; i < size; ++i) mean[part] += resident[part * size + i] / static_cast<double>(size);
  double least = mean[2] - mean[1], most = least;  // growth from one part to the next
  for (std::size_t part = 2; part < kParts; ++part) {
    least = std::min(least, mean[part] - mean[part - 1]);
    most = std::max(most, mean[part] - mean[part - 1]);
  }
  const double growth = mean[kParts - 1] - mean[1];
  if (least < 0.3 * most || least <= 0 || growth < 0.1 * mean[1] || growth < 50e6) return std::nullopt;
  const double seconds = static_cast<double>(3 * size) * profile.timeline.interval_s;
  RunFinding finding;
  finding.title = "the memory of the main process grows continuously";
  finding.evidence = fmt::format("it grew from {:.0f} to {:.0f} MB in {:.0f} s, {:.1f} MB per second, without a pause",
                                 1e-6 * mean[1], 1e-6 * mean[kParts - 1], seconds, 1e-6 * growth / seconds);
  finding.changes = {
      "check lists and caches that grow by one entry per step, especially of tensors with their graphs",
      "do not keep tensors with their graphs: losses.append(loss.item()), or loss.detach(); check lists and caches "
      "that grow by one entry per step",
      "keep numbers, not tensors: losses.append(float(loss)); delete persistent GradientTapes; pass tensors to "
      "tf.function, because each new Python number adds a graph",
      "keep numbers, not arrays: append jax.device_get(loss); do not call jax.jit inside of the step, because each new "
      "function adds a compiled program"};
  finding.ends_run = growth >= kFast * mean[1];
  if (finding.ends_run) finding.evidence += "; the run ends when the memory is full";
  const double gain = least_gain(profile);
  finding.lost = 1 - 1 / gain;
  if (gain >= 1.01)
    finding.evidence += fmt::format(
        "; new pages and longer steps take {:.0f} % of the time: without them, the throughput is at least {:.2f} times "
        "as high",
        100 * finding.lost, gain);
  return finding;
}

}  // namespace

const Rule kGrowingMemory{"growing-memory",
                          "after the first fifth of the run, the memory of the main process without pages of files "
                          "grows by similar amounts in each of the other fifths, in total by 10 % and 50 MB",
                          find_growing_memory};

}  // namespace unstarve
