#include "unstarve/device/nvml_sampler.h"

#include <algorithm>
#include <array>

namespace unstarve {
namespace {

constexpr std::chrono::milliseconds kSamplePeriod{1500};  // longer than that of the driver, a second at most

template <class Value>
int read_number(NvmlStatus (*function)(NvmlDevice, Value*), NvmlDevice gpu) {
  Value value = 0;
  return succeeds(function, gpu, &value) ? static_cast<int>(value) : 0;
}

}  // namespace

NvmlSampler::NvmlSampler(const std::string& library) : nvml_(library) {
  if (nvml_.problem() == NvmlProblem::kNone) {
    std::array<char, 81> version{};
    if (succeeds(nvml_->driver, version.data(), static_cast<unsigned>(version.size() - 1)))
      states_.driver = version.data();
    unsigned count = 0;
    if (const NvmlStatus status = nvml_->count(&count); status != kNvmlSuccess) nvml_.fail(status);
    for (unsigned index = 0; index < count; ++index) {
      Gpu gpu;
      // A GPU that is lost, or of another user, has no handle; the others keep their numbers.
      const bool found = succeeds(nvml_->handle, index, &gpu.handle);
      if (!found) gpu.handle = nullptr;
      states_.gpus.push_back(found ? nvml_.state_of(gpu.handle) : GpuState{});
      gpus_.push_back(gpu);
    }
  }
  states_.problem = nvml_.problem();
  states_.message = nvml_.message();
}

std::vector<GpuLook> NvmlSampler::look() {
  std::vector<GpuLook> looks;
  for (Gpu& gpu : gpus_) looks.push_back(look_at(gpu));
  return looks;
}

GpuLook NvmlSampler::look_at(Gpu& gpu) const {
  GpuLook look;
  if (gpu.handle == nullptr) {
    look.failure = "the GPU is lost, or another user's";
    return look;
  }
  NvmlUtilisation utilisation{};
  const NvmlStatus status =
      nvml_->utilisation != nullptr ? nvml_->utilisation(gpu.handle, &utilisation) : kNvmlInsufficientSize;
  if (status == kNvmlSuccess)
    look.utilisation = 0.01 * std::min(utilisation.gpu, 100u);
  else
    look.failure = nvml_->utilisation != nullptr ? nvml_.text_of(status) : "NVML has no function for it";
  NvmlMemory memory{};
  if (succeeds(nvml_->memory, gpu.handle, &memory)) look.memory_used_bytes = memory.used;
  unsigned value = 0;
  if (succeeds(nvml_->clock, gpu.handle, kNvmlClockSm, &value)) look.clock_mhz = static_cast<int>(value);
  if (succeeds(nvml_->temperature, gpu.handle, kNvmlTemperatureOfGpu, &value))
    look.temperature_c = static_cast<int>(value);
  look.power_w = 1e-3 * read_number(nvml_->power, gpu.handle);
  look.link_generation = read_number(nvml_->generation, gpu.handle);
  look.link_lanes = read_number(nvml_->lanes, gpu.handle);
  look.slowdowns = nvml_.slowdowns_of(gpu.handle);
  for (const GpuProcess& process : nvml_.processes_of(gpu.handle))
    look.processes.push_back({process.process, process.memory_bytes, -1});
  if (!look.processes.empty()) add_utilisation(gpu, look.processes);
  return look;
}

// The driver keeps samples of each process for some seconds, and returns those after the given time.
void NvmlSampler::add_utilisation(Gpu& gpu, std::vector<GpuProcessLook>& processes) const {
  if (nvml_->process_samples == nullptr) return;
  unsigned count = 0;
  NvmlStatus status = nvml_->process_samples(gpu.handle, nullptr, &count, gpu.latest_sample_us);
  std::vector<NvmlProcessSample> samples(status == kNvmlInsufficientSize ? count : 0);
  if (!samples.empty()) status = nvml_->process_samples(gpu.handle, samples.data(), &count, gpu.latest_sample_us);
  if (status != kNvmlSuccess && status != kNvmlNotFound) return;
  samples.resize(status == kNvmlSuccess ? std::min<std::size_t>(count, samples.size()) : 0);
  // Without any sample, the processes were idle, unless the driver's period has not ended since the latest samples.
  const SteadyTime now = std::chrono::steady_clock::now();
  if (samples.empty() && gpu.latest_samples && now - *gpu.latest_samples < kSamplePeriod) return;
  gpu.latest_samples = now;
  for (const NvmlProcessSample& sample : samples)
    gpu.latest_sample_us = std::max(gpu.latest_sample_us, sample.microseconds);
  const auto is_known = [&](const NvmlProcessSample& sample) {
    return std::ranges::any_of(processes, [&](const auto& process) { return process.process == sample.process; });
  };
  // Those of other processes alone may have the numbers of another container.
  if (!samples.empty() && std::ranges::none_of(samples, is_known)) return;
  for (GpuProcessLook& process : processes) {
    double sum = 0;
    int found = 0;
    for (const NvmlProcessSample& sample : samples) {
      if (sample.process != process.process) continue;
      sum += 0.01 * std::min(sample.multiprocessors, 100u);
      ++found;
    }
    process.utilisation = found > 0 ? sum / found : 0;  // the driver omits idle processes
  }
}

}  // namespace unstarve
