#pragma once
// `unstarve doctor`: report configuration problems and how to fix them.
//
// Threads: pure functions except run_doctor(), which reads the machine. Failure: only std::bad_alloc; facts that cannot
// be read are left out.

#include <string>
#include <vector>

#include "unstarve/device/device.h"
#include "unstarve/observe/machine.h"

namespace unstarve {

// Versions of the program and its libraries, from libtorch_facts() (train) and arrow_facts() (storage).
struct BuildFacts {
  std::string version;   // of unstarve
  std::string compiler;  // "gcc 12.2.0"
  std::string libtorch;  // "2.13.0+cpu"; empty without libtorch
  bool libtorch_cuda = false;
  std::string arrow;             // "26.0.1"; empty without Arrow
  std::string libtorch_problem;  // why libtorch cannot be loaded by a build with libtorch; else empty
  std::string arrow_problem;     // why Arrow cannot be loaded by a build with Parquet support; else empty
};

struct DoctorFinding {
  std::string topic;    // "cores", "shm", "gpu", ...
  std::string found;    // the fact
  std::string advice;   // its effect and the fix
  std::string command;  // that applies the fix; empty if a single command is not enough
};

struct DoctorResult {
  BuildFacts build;
  MachineFacts machine;
  DeviceReport devices;
  std::vector<DoctorFinding> findings;  // most expensive first
};

// The compiler that compiled this library.
[[nodiscard]] std::string compiler_name();

// The problems that follow from the facts. `uring_error`: errno of storage's function of that name.
[[nodiscard]] std::vector<DoctorFinding> find_problems(const BuildFacts& build, const MachineFacts& machine,
                                                       const DeviceReport& devices, int uring_error);

[[nodiscard]] DoctorResult run_doctor(const BuildFacts& build);

// {"build": {version, compiler, libtorch (null without), libtorch_cuda, arrow (null without), cuda_runtime (null
// without)}, "machine": see observe/facts.h, "devices": {driver (null without), reason (null when a device can be
// used), gpus[] (name, memory_bytes, capability)}, "findings": [{topic, found, advice, command}]}
[[nodiscard]] std::string to_json(const DoctorResult& result);
[[nodiscard]] std::string to_text(const DoctorResult& result);

}  // namespace unstarve
