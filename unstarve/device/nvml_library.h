#pragma once
// The loaded library NVML of NVIDIA's driver, with declarations of the few C functions that are used: the build does
// not need its header.
//
// Ownership: the library is open and initialised while the object lives. Threads: one at a time.
// Failure:   never throws except std::bad_alloc; `problem` and `message` say why it cannot be used.

#include <memory>
#include <string>

#include "unstarve/device/nvml.h"

namespace unstarve {

// Types and values of nvml.h of CUDA 13.0, unchanged since CUDA 12.0 (driver 525).
using NvmlStatus = int;
using NvmlDevice = void*;
inline constexpr NvmlStatus kNvmlSuccess = 0, kNvmlNotFound = 6, kNvmlInsufficientSize = 7, kNvmlDriverNotLoaded = 9,
                            kNvmlMismatch = 18;
inline constexpr int kNvmlClockSm = 1, kNvmlUncorrected = 1, kNvmlVolatile = 0, kNvmlTemperatureOfGpu = 0;

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
struct NvmlUtilisation {
  unsigned gpu, memory;  // percent
};
struct NvmlProcessSample {
  unsigned process;
  unsigned long long microseconds;
  unsigned multiprocessors, memory, encoder, decoder;  // percent
};

// A function that the library does not have is null, and its value unknown; only those of the first group are required.
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
  NvmlStatus (*power)(NvmlDevice, unsigned*) = nullptr;
  NvmlStatus (*power_limit)(NvmlDevice, unsigned*) = nullptr;
  NvmlStatus (*power_default)(NvmlDevice, unsigned*) = nullptr;
  NvmlStatus (*clock)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlStatus (*clock_most)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlStatus (*temperature)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlStatus (*reasons)(NvmlDevice, unsigned long long*) = nullptr;
  NvmlStatus (*utilisation)(NvmlDevice, NvmlUtilisation*) = nullptr;
  NvmlStatus (*ecc)(NvmlDevice, int*, int*) = nullptr;
  NvmlStatus (*ecc_errors)(NvmlDevice, int, int, unsigned long long*) = nullptr;
  NvmlStatus (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  NvmlStatus (*processes)(NvmlDevice, unsigned*, NvmlProcess*) = nullptr;
  NvmlStatus (*process_samples)(NvmlDevice, NvmlProcessSample*, unsigned*, unsigned long long) = nullptr;

  [[nodiscard]] bool complete() const { return init && shutdown && count && handle; }
};

// Whether the function exists and succeeds.
template <class Function, class... Arguments>
bool succeeds(Function function, Arguments... arguments) {
  return function != nullptr && function(arguments...) == kNvmlSuccess;
}

class NvmlLibrary {
 public:
  // `library`: its path; empty: $UNSTARVE_NVML, or libnvidia-ml.so.1 if that is not set.
  explicit NvmlLibrary(const std::string& library);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  // The functions; only if problem() is kNone.
  const NvmlFunctions* operator->() const { return &functions_; }
  [[nodiscard]] NvmlProblem problem() const { return problem_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  // Records that a function failed.
  void fail(NvmlStatus status);
  [[nodiscard]] std::string text_of(NvmlStatus status) const;

  // Of one GPU. All values that are unknown are those of an empty GpuState.
  [[nodiscard]] GpuState state_of(NvmlDevice gpu) const;
  // Bits of nvmlDeviceGetCurrentClocksThrottleReasons(), without those that mean idle.
  [[nodiscard]] std::vector<GpuSlowdown> slowdowns_of(NvmlDevice gpu) const;
  [[nodiscard]] std::vector<GpuProcess> processes_of(NvmlDevice gpu) const;  // without this one

 private:
  std::unique_ptr<void, int (*)(void*)> library_;
  NvmlFunctions functions_;
  bool running_ = false;
  NvmlProblem problem_ = NvmlProblem::kNone;
  std::string message_;
};

}  // namespace unstarve
