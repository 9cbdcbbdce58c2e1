#include "unstarve/device/nvml_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "unstarve/core/library_function.h"

namespace unstarve {
namespace {

struct NvmlReason {
  unsigned long long bit;
  GpuSlowdown slowdown;
};
constexpr std::array<NvmlReason, 6> kNvmlReasons = {{{0x02, GpuSlowdown::kClockSetting},
                                                     {0x04, GpuSlowdown::kPowerLimit},
                                                     {0x08, GpuSlowdown::kHardware},
                                                     {0x20, GpuSlowdown::kTooHot},
                                                     {0x40, GpuSlowdown::kHardwareTooHot},
                                                     {0x80, GpuSlowdown::kPowerBrake}}};

NvmlFunctions functions_of(void* library) {
  NvmlFunctions f;
  look_up(library, "nvmlInit_v2", f.init);
  look_up(library, "nvmlShutdown", f.shutdown);
  look_up(library, "nvmlDeviceGetCount_v2", f.count);
  look_up(library, "nvmlDeviceGetHandleByIndex_v2", f.handle);
  look_up(library, "nvmlErrorString", f.error_text);
  look_up(library, "nvmlSystemGetDriverVersion", f.driver);
  look_up(library, "nvmlDeviceGetName", f.name);
  look_up(library, "nvmlDeviceGetPciInfo_v3", f.pci);
  look_up(library, "nvmlDeviceGetPersistenceMode", f.persistence);
  look_up(library, "nvmlDeviceGetCurrPcieLinkGeneration", f.generation);
  look_up(library, "nvmlDeviceGetMaxPcieLinkGeneration", f.generation_most);
  look_up(library, "nvmlDeviceGetCurrPcieLinkWidth", f.lanes);
  look_up(library, "nvmlDeviceGetMaxPcieLinkWidth", f.lanes_most);
  look_up(library, "nvmlDeviceGetPerformanceState", f.performance);
  look_up(library, "nvmlDeviceGetPowerUsage", f.power);
  look_up(library, "nvmlDeviceGetEnforcedPowerLimit", f.power_limit);
  look_up(library, "nvmlDeviceGetPowerManagementDefaultLimit", f.power_default);
  look_up(library, "nvmlDeviceGetClockInfo", f.clock);
  look_up(library, "nvmlDeviceGetMaxClockInfo", f.clock_most);
  look_up(library, "nvmlDeviceGetTemperature", f.temperature);
  look_up(library, "nvmlDeviceGetUtilizationRates", f.utilisation);
  look_up(library, "nvmlDeviceGetCurrentClocksThrottleReasons", f.reasons);
  if (f.reasons == nullptr) look_up(library, "nvmlDeviceGetCurrentClocksEventReasons", f.reasons);  // its later name
  look_up(library, "nvmlDeviceGetEccMode", f.ecc);
  look_up(library, "nvmlDeviceGetTotalEccErrors", f.ecc_errors);
  look_up(library, "nvmlDeviceGetMemoryInfo", f.memory);
  look_up(library, "nvmlDeviceGetComputeRunningProcesses_v3", f.processes);
  look_up(library, "nvmlDeviceGetProcessUtilization", f.process_samples);
  return f;
}

template <class Function>
int number_of(Function function, NvmlDevice gpu) {
  unsigned value = 0;
  return succeeds(function, gpu, &value) ? static_cast<int>(value) : 0;
}

int clock_of(NvmlStatus (*function)(NvmlDevice, int, unsigned*), NvmlDevice gpu) {
  unsigned mhz = 0;
  return succeeds(function, gpu, kNvmlClockSm, &mhz) ? static_cast<int>(mhz) : 0;
}

// NVML writes the domain with eight digits and in capitals, the kernel with at least four and in small letters.
std::string address_in_sys(std::string_view address) {
  const auto colon = address.find(':');
  std::string text;
  if (colon != std::string_view::npos && colon > 4 &&
      address.substr(0, colon - 4).find_first_not_of('0') == std::string_view::npos) {
    address.remove_prefix(colon - 4);
  }
  for (const char letter : address) text += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

NvmlProblem problem_of(NvmlStatus status) {
  switch (status) {
    case kNvmlSuccess: return NvmlProblem::kNone;
    case kNvmlDriverNotLoaded: return NvmlProblem::kNoDriver;
    case kNvmlMismatch: return NvmlProblem::kMismatch;
    default: return NvmlProblem::kOther;
  }
}

std::string path_of(const std::string& library) {
  if (!library.empty()) return library;
  const char* const named = std::getenv("UNSTARVE_NVML");
  return named != nullptr && *named != '\0' ? named : "libnvidia-ml.so.1";
}

}  // namespace

NvmlLibrary::NvmlLibrary(const std::string& library) : library_(nullptr, dlclose) {
  const std::string path = path_of(library);
  library_.reset(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library_) {
    const char* const reason = dlerror();
    problem_ = NvmlProblem::kNoLibrary;
    message_ = reason != nullptr ? reason : path;
    return;
  }
  functions_ = functions_of(library_.get());
  if (!functions_.complete()) {
    problem_ = NvmlProblem::kOther;
    message_ = path + " lacks functions of NVML 9 or newer";
    return;
  }
  const NvmlStatus status = functions_.init();
  running_ = status == kNvmlSuccess;
  if (!running_) fail(status);
}

NvmlLibrary::~NvmlLibrary() {
  if (running_) (void)functions_.shutdown();
}

void NvmlLibrary::fail(NvmlStatus status) {
  problem_ = problem_of(status);
  message_ = text_of(status);
}

std::string NvmlLibrary::text_of(NvmlStatus status) const {
  const char* const text = functions_.error_text != nullptr ? functions_.error_text(status) : nullptr;
  return text != nullptr ? text : "NVML error " + std::to_string(status);
}

std::vector<GpuProcess> NvmlLibrary::processes_of(NvmlDevice gpu) const {
  const NvmlFunctions& nvml = functions_;
  unsigned count = 0;
  if (nvml.processes == nullptr || nvml.processes(gpu, &count, nullptr) != kNvmlInsufficientSize) return {};
  std::vector<NvmlProcess> found(count + 16);  // processes may start meanwhile
  count = static_cast<unsigned>(found.size());
  if (nvml.processes(gpu, &count, found.data()) != kNvmlSuccess) return {};
  std::vector<GpuProcess> others;
  for (unsigned i = 0; i < count && i < found.size(); ++i) {
    if (found[i].process == static_cast<unsigned>(getpid())) continue;
    others.push_back({found[i].process, found[i].memory == ~0ull ? 0 : found[i].memory});
  }
  return others;
}

std::vector<GpuSlowdown> NvmlLibrary::slowdowns_of(NvmlDevice gpu) const {
  std::vector<GpuSlowdown> slowdowns;
  unsigned long long bits = 0;
  if (!succeeds(functions_.reasons, gpu, &bits)) return slowdowns;
  for (const NvmlReason& reason : kNvmlReasons)
    if ((bits & reason.bit) != 0) slowdowns.push_back(reason.slowdown);
  return slowdowns;
}

GpuState NvmlLibrary::state_of(NvmlDevice gpu) const {
  const NvmlFunctions& nvml = functions_;
  GpuState state;
  std::array<char, 96> name{};
  if (succeeds(nvml.name, gpu, name.data(), static_cast<unsigned>(name.size() - 1))) state.name = name.data();
  NvmlPciInfo pci{};
  if (succeeds(nvml.pci, gpu, &pci)) {
    pci.address[sizeof pci.address - 1] = '\0';
    state.pci_address = address_in_sys(pci.address);
  }
  int mode = 0, pending = 0;
  if (succeeds(nvml.persistence, gpu, &mode)) state.persistence = mode != 0;
  if (succeeds(nvml.ecc, gpu, &mode, &pending)) state.ecc = mode != 0;
  if (succeeds(nvml.performance, gpu, &mode)) state.performance_state = mode <= 15 ? mode : -1;
  state.link_generation = number_of(nvml.generation, gpu);
  state.link_generation_most = number_of(nvml.generation_most, gpu);
  state.link_lanes = number_of(nvml.lanes, gpu);
  state.link_lanes_most = number_of(nvml.lanes_most, gpu);
  state.power_limit_w = number_of(nvml.power_limit, gpu) / 1e3;
  state.power_limit_default_w = number_of(nvml.power_default, gpu) / 1e3;
  state.clock_mhz = clock_of(nvml.clock, gpu);
  state.clock_most_mhz = clock_of(nvml.clock_most, gpu);
  state.slowdowns = slowdowns_of(gpu);
  unsigned long long errors = 0;
  if (succeeds(nvml.ecc_errors, gpu, kNvmlUncorrected, kNvmlVolatile, &errors)) state.memory_errors = errors;
  NvmlMemory memory{};
  if (succeeds(nvml.memory, gpu, &memory)) {
    state.memory_bytes = memory.total;
    state.memory_used_bytes = memory.used;
  }
  state.processes = processes_of(gpu);
  return state;
}

}  // namespace unstarve
