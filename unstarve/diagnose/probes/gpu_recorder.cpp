#include "unstarve/diagnose/probes/gpu_recorder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "unstarve/diagnose/probes/proc_text.h"
#include "unstarve/observe/kernel_files.h"

namespace unstarve {
namespace {

constexpr std::size_t kMostGpuProcesses = 64, kMostKept = 8192;
constexpr GpuSlowdown kSlowdowns[] = {GpuSlowdown::kClockSetting,   GpuSlowdown::kPowerLimit,
                                      GpuSlowdown::kHardware,       GpuSlowdown::kTooHot,
                                      GpuSlowdown::kHardwareTooHot, GpuSlowdown::kPowerBrake};
std::uint32_t bit_of(GpuSlowdown slowdown) { return 1u << static_cast<unsigned>(slowdown); }

int number_in(const std::filesystem::path& file, int otherwise) {
  const std::string text = kernel::first_line(file);
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The NUMA nodes that have a CPU of the affinity mask of `process`.
std::set<int> nodes_of(const std::filesystem::path& root, int process) {
  const std::set<int> mask = parse_allowed_cpus(kernel::read_text(root / "proc" / std::to_string(process) / "status"));
  std::set<int> nodes;
  const std::filesystem::path folder = root / "sys/devices/system/node";
  for (const int node : kernel::parse_list(kernel::first_line(folder / "online"))) {
    for (const int cpu : kernel::parse_list(kernel::first_line(folder / ("node" + std::to_string(node)) / "cpulist")))
      if (mask.contains(cpu)) nodes.insert(node);
  }
  return nodes;
}

double share(std::int64_t part, std::int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

// The value below which a share q of all is; 0 without values.
double value_at(std::vector<double>& values, double q) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

GpuRecorder::GpuRecorder(const GpuStates& states, std::filesystem::path root) : root_(std::move(root)) {
  for (const GpuState& state : states.gpus) {
    Gpu gpu;
    GpuUse& use = gpu.use;
    use.index = static_cast<int>(gpus_.size());
    use.name = state.name;
    use.pci_address = state.pci_address;
    use.memory_bytes = static_cast<std::int64_t>(state.memory_bytes);
    use.power_limit_w = state.power_limit_w;
    use.power_limit_default_w = state.power_limit_default_w;
    use.clock_most_mhz = state.clock_most_mhz;
    use.link_generation_most = state.link_generation_most;
    use.link_lanes_most = state.link_lanes_most;
    if (!state.pci_address.empty())
      use.numa_node = number_in(root_ / "sys/bus/pci/devices" / state.pci_address / "numa_node", -1);
    gpus_.push_back(std::move(gpu));
  }
}

void GpuRecorder::add(double seconds, std::span<const GpuLook> looks) {
  for (std::size_t i = 0; i < std::min(looks.size(), gpus_.size()); ++i) {
    const GpuLook& look = looks[i];
    Gpu& gpu = gpus_[i];
    GpuUse& use = gpu.use;
    ++gpu.all_looks;
    use.missing = look.failure;
    use.peak_memory_bytes = std::max(use.peak_memory_bytes, static_cast<std::int64_t>(look.memory_used_bytes));
    use.temperature_c = std::max(use.temperature_c, look.temperature_c);
    use.link_generation = std::max(use.link_generation, look.link_generation);
    use.link_lanes = std::max(use.link_lanes, look.link_lanes);
    add_processes(gpu, look);
    if (look.utilisation < 0) continue;
    gpu.recent += look.utilisation;
    ++gpu.recent_looks;
    if (look.utilisation > 0 || !gpu.samples.empty()) add_sample(gpu, seconds, look);
  }
}

void GpuRecorder::add_sample(Gpu& gpu, double seconds, const GpuLook& look) {
  if (gpu.next++ % gpu.every != 0) return;
  Sample sample{seconds, look.utilisation, look.power_w, look.clock_mhz};
  for (const GpuSlowdown slowdown : look.slowdowns) sample.slowdowns |= bit_of(slowdown);
  gpu.samples.push_back(sample);
  if (gpu.samples.size() < kMostKept) return;
  for (std::size_t i = 0; i < kMostKept / 2; ++i) gpu.samples[i] = gpu.samples[2 * i];
  gpu.samples.resize(kMostKept / 2);
  gpu.every *= 2;
  gpu.next = 0;
}

void GpuRecorder::add_processes(Gpu& gpu, const GpuLook& look) {
  for (const GpuProcessLook& seen : look.processes) {
    const int number = static_cast<int>(seen.process);
    auto known = gpu.processes.find(number);
    if (known == gpu.processes.end()) {
      if (gpu.processes.size() == kMostGpuProcesses) continue;
      known = gpu.processes.emplace(number, Process{}).first;
      known->second.name = kernel::first_line(root_ / "proc" / std::to_string(number) / "comm");
    }
    Process& process = known->second;
    ++process.looks;
    process.memory_bytes = std::max(process.memory_bytes, static_cast<std::int64_t>(seen.memory_bytes));
    if (seen.utilisation < 0) continue;
    process.utilisation += seen.utilisation;
    ++process.samples;
  }
}

void GpuRecorder::set_program(const std::set<int>& processes) {
  for (Gpu& gpu : gpus_) {
    for (auto& [number, process] : gpu.processes) {
      if (!processes.contains(number)) continue;
      process.of_program = gpu.use.used = true;
      gpu.nodes.merge(nodes_of(root_, number));
    }
  }
}

void GpuRecorder::set_samples(GpuUse& use, const Gpu& gpu, double from_s) {
  std::vector<double> utilisation, power, clock;
  std::map<GpuSlowdown, std::int64_t> slowed;  // busy samples
  for (const Sample& sample : gpu.samples) {
    if (sample.seconds < from_s) continue;
    utilisation.push_back(sample.utilisation);
    if (sample.power_w > 0) power.push_back(sample.power_w);
    if (sample.utilisation < kGpuBusy) continue;
    ++use.busy_samples;
    if (sample.clock_mhz > 0) clock.push_back(sample.clock_mhz);
    for (const GpuSlowdown slowdown : kSlowdowns)
      if ((sample.slowdowns & bit_of(slowdown)) != 0) ++slowed[slowdown];
  }
  use.utilisation_p10 = value_at(utilisation, 0.1);
  use.utilisation_p50 = value_at(utilisation, 0.5);
  use.utilisation_p90 = value_at(utilisation, 0.9);
  for (const double value : utilisation) {
    const double part = 1 / static_cast<double>(utilisation.size());
    const auto bin = static_cast<std::size_t>(std::lround(100 * std::clamp(value, 0.0, 1.0))) * kUtilisationBins / 100;
    use.utilisation_mean += part * value;
    if (value == 0) use.idle_share += part;
    use.utilisation_shares[std::min(bin, kUtilisationBins - 1)] += part;
  }
  use.power_w = value_at(power, 0.5);
  use.clock_mhz = static_cast<int>(value_at(clock, 0.5));
  for (const auto& [slowdown, samples] : slowed)
    use.slowdowns.push_back({to_string(slowdown), share(samples, use.busy_samples)});
  use.samples = gpu.every * static_cast<std::int64_t>(utilisation.size());
  use.busy_samples *= gpu.every;
}

std::vector<GpuUse> GpuRecorder::use(double from_s) const {
  std::vector<GpuUse> uses;
  for (const Gpu& gpu : gpus_) {
    GpuUse use = gpu.use;
    set_samples(use, gpu, from_s);
    use.process_nodes.assign(gpu.nodes.begin(), gpu.nodes.end());
    for (const auto& [number, process] : gpu.processes) {
      if (process.of_program) continue;
      use.others.push_back({number, process.name, process.memory_bytes, share(process.looks, gpu.all_looks),
                            process.samples > 0 ? process.utilisation / static_cast<double>(process.samples) : -1});
    }
    std::ranges::stable_sort(use.others,
                             [](const GpuOther& a, const GpuOther& b) { return a.memory_bytes > b.memory_bytes; });
    if (use.others.size() > kMostOthers) use.others.resize(kMostOthers);
    uses.push_back(std::move(use));
  }
  return uses;
}

double GpuRecorder::take_utilisation() {
  const bool known = std::ranges::any_of(gpus_, [](const Gpu& gpu) { return gpu.use.used; });
  double sum = 0;
  int found = 0;
  for (Gpu& gpu : gpus_) {
    const double recent = std::exchange(gpu.recent, 0);
    const std::int64_t looks = std::exchange(gpu.recent_looks, 0);
    if (looks == 0 || (known ? !gpu.use.used : gpu.samples.empty())) continue;
    sum += recent / static_cast<double>(looks);
    ++found;
  }
  return found > 0 ? sum / found : -1;
}

}  // namespace unstarve
