#include "unstarve/device/nvml.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace unstarve {
namespace {

// Types and values of nvml.h of CUDA 13.0, unchanged since CUDA 12.0 (driver 525).
using NvmlStatus = int;
using NvmlDevice = void*;
constexpr NvmlStatus kNvmlSuccess = 0, kNvmlInsufficientSize = 7, kNvmlDriverNotLoaded = 9, kNvmlMismatch = 18;
constexpr int kNvmlClockSm = 1, kNvmlUncorrected = 1, kNvmlVolatile = 0;

struct NvmlPciInfo {
  char legacy_address[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char address[32];  // "00000000:41:00.0"
};
struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlProcess {
  unsigned process;
  unsigned long long memory;  // all bits set: unknown
  unsigned gpu_instance, compute_instance;
};

struct NvmlReason {
  unsigned long long bit;
  GpuSlowdown slowdown;
};
constexpr std::array<NvmlReason, 5> kNvmlReasons = {{{0x02, GpuSlowdown::kClockSetting},
                                                     {0x08, GpuSlowdown::kHardware},
                                                     {0x20, GpuSlowdown::kTooHot},
                                                     {0x40, GpuSlowdown::kHardwareTooHot},
                                                     {0x80, GpuSlowdown::kPowerBrake}}};

// The functions that are used. A function that the library does not have is null, and its value unknown; only those of
// the first group are required.
struct NvmlFunctions {
  NvmlStatus (*init)() = nullptr;
  NvmlStatus (*shutdown)() = nullptr;
  NvmlStatus (*count)(unsigned*) = nullptr;
  NvmlStatus (*handle)(unsigned, NvmlDevice*) = nullptr;

  const char* (*error_text)(NvmlStatus) = nullptr;
  NvmlStatus (*driver)(char*, unsigned) = nullptr;
  NvmlStatus (*name)(NvmlDevice, char*, unsigned) = nullptr;
  NvmlStatus (*pci)(NvmlDevice, NvmlPciInfo*) = nullptr;
  NvmlStatus (*persistence)(NvmlDevice, int*) = nullptr;
  NvmlStatus (*generation)(NvmlDevice, unsigned*) = nullptr;
  NvmlStatus (*generation_most)(NvmlDevice, unsigned*) = nullptr;
  NvmlStatus (*lanes)(NvmlDevice, unsigned*) = nullptr;
  NvmlStatus (*lanes_most)(NvmlDevice, unsigned*) = nullptr;
  NvmlStatus (*performance)(NvmlDevice, int*) = nullptr;
  NvmlStatus (*power_limit)(NvmlDevice, unsigned*) = nullptr;
  NvmlStatus (*power_default)(NvmlDevice, unsigned*) = nullptr;
  NvmlStatus (*clock)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlStatus (*clock_most)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlStatus (*reasons)(NvmlDevice, unsigned long long*) = nullptr;
  NvmlStatus (*ecc)(NvmlDevice, int*, int*) = nullptr;
  NvmlStatus (*ecc_errors)(NvmlDevice, int, int, unsigned long long*) = nullptr;
  NvmlStatus (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  NvmlStatus (*processes)(NvmlDevice, unsigned*, NvmlProcess*) = nullptr;

  [[nodiscard]] bool complete() const { return init && shutdown && count && handle; }
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

NvmlFunctions functions_of(void* library) {
  NvmlFunctions f;
  find(library, "nvmlInit_v2", f.init);
  find(library, "nvmlShutdown", f.shutdown);
  find(library, "nvmlDeviceGetCount_v2", f.count);
  find(library, "nvmlDeviceGetHandleByIndex_v2", f.handle);
  find(library, "nvmlErrorString", f.error_text);
  find(library, "nvmlSystemGetDriverVersion", f.driver);
  find(library, "nvmlDeviceGetName", f.name);
  find(library, "nvmlDeviceGetPciInfo_v3", f.pci);
  find(library, "nvmlDeviceGetPersistenceMode", f.persistence);
  find(library, "nvmlDeviceGetCurrPcieLinkGeneration", f.generation);
  find(library, "nvmlDeviceGetMaxPcieLinkGeneration", f.generation_most);
  find(library, "nvmlDeviceGetCurrPcieLinkWidth", f.lanes);
  find(library, "nvmlDeviceGetMaxPcieLinkWidth", f.lanes_most);
  find(library, "nvmlDeviceGetPerformanceState", f.performance);
  find(library, "nvmlDeviceGetEnforcedPowerLimit", f.power_limit);
  find(library, "nvmlDeviceGetPowerManagementDefaultLimit", f.power_default);
  find(library, "nvmlDeviceGetClockInfo", f.clock);
  find(library, "nvmlDeviceGetMaxClockInfo", f.clock_most);
  find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", f.reasons);
  if (f.reasons == nullptr) find(library, "nvmlDeviceGetCurrentClocksEventReasons", f.reasons);  // its later name
  find(library, "nvmlDeviceGetEccMode", f.ecc);
  find(library, "nvmlDeviceGetTotalEccErrors", f.ecc_errors);
  find(library, "nvmlDeviceGetMemoryInfo", f.memory);
  find(library, "nvmlDeviceGetComputeRunningProcesses_v3", f.processes);
  return f;
}

// Whether the function exists and succeeds.
template <class Function, class... Arguments>
bool succeeds(Function function, Arguments... arguments) {
  return function != nullptr && function(arguments...) == kNvmlSuccess;
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

std::vector<GpuProcess> processes_of(const NvmlFunctions& nvml, NvmlDevice gpu) {
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

GpuState state_of(const NvmlFunctions& nvml, NvmlDevice gpu) {
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
  unsigned long long bits = 0;
  if (succeeds(nvml.reasons, gpu, &bits)) {
    for (const NvmlReason& reason : kNvmlReasons)
      if ((bits & reason.bit) != 0) state.slowdowns.push_back(reason.slowdown);
  }
  unsigned long long errors = 0;
  if (succeeds(nvml.ecc_errors, gpu, kNvmlUncorrected, kNvmlVolatile, &errors)) state.memory_errors = errors;
  NvmlMemory memory{};
  if (succeeds(nvml.memory, gpu, &memory)) {
    state.memory_bytes = memory.total;
    state.memory_used_bytes = memory.used;
  }
  state.processes = processes_of(nvml, gpu);
  return state;
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

const char* to_string(GpuSlowdown slowdown) noexcept {
  switch (slowdown) {
    case GpuSlowdown::kClockSetting: return "a clock setting";
    case GpuSlowdown::kHardware: return "slowed down by the hardware";
    case GpuSlowdown::kTooHot: return "too hot";
    case GpuSlowdown::kHardwareTooHot: return "too hot, slowed down by the hardware";
    case GpuSlowdown::kPowerBrake: return "slowed down by the power supply";
  }
  return "unknown";
}

GpuStates read_gpu_states(const std::string& library) {
  GpuStates states;
  const std::string path = path_of(library);
  void* const opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    const char* const reason = dlerror();
    return {NvmlProblem::kNoLibrary, reason != nullptr ? reason : path, "", {}};
  }
  const std::unique_ptr<void, int (*)(void*)> loaded(opened, dlclose);
  const NvmlFunctions nvml = functions_of(opened);
  if (!nvml.complete()) return {NvmlProblem::kOther, path + " lacks functions of NVML 9 or newer", "", {}};
  const auto failed = [&](NvmlStatus status) {
    const char* const text = nvml.error_text != nullptr ? nvml.error_text(status) : nullptr;
    states.problem = problem_of(status);
    states.message = text != nullptr ? text : "NVML error " + std::to_string(status);
    return states;
  };
  if (const NvmlStatus status = nvml.init(); status != kNvmlSuccess) return failed(status);
  const std::unique_ptr<const NvmlFunctions, void (*)(const NvmlFunctions*)> running(
      &nvml, [](const NvmlFunctions* functions) { (void)functions->shutdown(); });
  std::array<char, 81> version{};
  if (succeeds(nvml.driver, version.data(), static_cast<unsigned>(version.size() - 1))) states.driver = version.data();
  unsigned count = 0;
  if (const NvmlStatus status = nvml.count(&count); status != kNvmlSuccess) return failed(status);
  for (unsigned index = 0; index < count; ++index) {
    NvmlDevice gpu = nullptr;
    // A GPU that is lost, or of another user, has no handle; the others keep their numbers.
    states.gpus.push_back(succeeds(nvml.handle, index, &gpu) ? state_of(nvml, gpu) : GpuState{});
  }
  return states;
}

}  // namespace unstarve
