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

constexpr std::size_t kMostGpuProcesses = 64;

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

}  // namespace

void GpuRecorder::Counts::add(double value) {
  const auto bin = static_cast<std::size_t>(std::max(std::lround(value / step_), 0l));
  ++counts_[std::min(bin, counts_.size() - 1)];
}

double GpuRecorder::Counts::quantile(double q) const {
  const std::int64_t all = in(0, counts_.size());
  const auto rank = static_cast<std::int64_t>(std::floor(q * static_cast<double>(std::max<std::int64_t>(all - 1, 0))));
  std::int64_t before = 0;
  for (std::size_t bin = 0; bin < counts_.size(); ++bin) {
    before += counts_[bin];
    if (before > rank) return step_ * static_cast<double>(bin);
  }
  return 0;
}

std::int64_t GpuRecorder::Counts::in(std::size_t first, std::size_t end) const {
  std::int64_t sum = 0;
  for (std::size_t bin = first; bin < end; ++bin) sum += counts_[bin];
  return sum;
}

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

void GpuRecorder::add(std::span<const GpuLook> looks) {
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
    if (look.utilisation == 0 && use.samples == 0) continue;  // the program has not begun to use it
    ++use.samples;
    gpu.utilisation.add(look.utilisation);
    gpu.utilisation_sum += look.utilisation;
    if (look.power_w > 0) gpu.power.add(look.power_w);
    if (look.utilisation < kGpuBusy) continue;
    ++use.busy_samples;
    if (look.clock_mhz > 0) gpu.clock.add(look.clock_mhz);
    for (const GpuSlowdown slowdown : look.slowdowns) ++gpu.slowdowns[slowdown];
  }
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

std::vector<GpuUse> GpuRecorder::use() const {
  std::vector<GpuUse> uses;
  for (const Gpu& gpu : gpus_) {
    GpuUse use = gpu.use;
    const auto share = [](std::int64_t part, std::int64_t all) {
      return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
    };
    use.utilisation_p10 = gpu.utilisation.quantile(0.1);
    use.utilisation_p50 = gpu.utilisation.quantile(0.5);
    use.utilisation_p90 = gpu.utilisation.quantile(0.9);
    if (use.samples > 0) use.utilisation_mean = gpu.utilisation_sum / static_cast<double>(use.samples);
    use.idle_share = share(gpu.utilisation.in(0, 1), use.samples);
    for (std::size_t bin = 0; bin < kUtilisationBins; ++bin) {
      const std::size_t end = bin + 1 == kUtilisationBins ? 101 : 10 * (bin + 1);
      use.utilisation_shares[bin] = share(gpu.utilisation.in(10 * bin, end), use.samples);
    }
    use.power_w = gpu.power.quantile(0.5);
    use.clock_mhz = static_cast<int>(gpu.clock.quantile(0.5));
    for (const auto& [slowdown, looks] : gpu.slowdowns)
      use.slowdowns.push_back({to_string(slowdown), share(looks, use.busy_samples)});
    use.process_nodes.assign(gpu.nodes.begin(), gpu.nodes.end());
    for (const auto& [number, process] : gpu.processes) {
      if (process.of_program) continue;
      use.others.push_back({number, process.name, process.memory_bytes, share(process.looks, gpu.all_looks),
                            process.samples > 0 ? process.utilisation / static_cast<double>(process.samples) : -1});
    }
    std::stable_sort(use.others.begin(), use.others.end(),
                     [](const GpuOther& a, const GpuOther& b) { return a.memory_bytes > b.memory_bytes; });
    if (use.others.size() > kMostOthers) use.others.resize(kMostOthers);
    uses.push_back(std::move(use));
  }
  return uses;
}

double GpuRecorder::take_utilisation() {
  const bool known = std::any_of(gpus_.begin(), gpus_.end(), [](const Gpu& gpu) { return gpu.use.used; });
  double sum = 0;
  int found = 0;
  for (Gpu& gpu : gpus_) {
    const double recent = std::exchange(gpu.recent, 0);
    const std::int64_t looks = std::exchange(gpu.recent_looks, 0);
    if (looks == 0 || (known ? !gpu.use.used : gpu.use.samples == 0)) continue;
    sum += recent / static_cast<double>(looks);
    ++found;
  }
  return found > 0 ? sum / found : -1;
}

}  // namespace unstarve
