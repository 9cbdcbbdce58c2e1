#pragma once
// `unstarve doctor`: the machine's and the build's facts that matter, and what to mend, each with the command that does
// it.
//
// Threads: pure but for run_doctor(), which reads the machine. Failure: none but std::bad_alloc; what cannot be read is
// left out.

#include <string>
#include <vector>

#include "unstarve/device/device.h"
#include "unstarve/observe/machine.h"

namespace unstarve {

// What the program was made of. libtorch's facts come from train's libtorch_facts(), Arrow's from storage's
// arrow_version().
struct BuildFacts {
  std::string version;   // of unstarve
  std::string compiler;  // "gcc 12.2.0"
  std::string libtorch;  // "2.13.0+cpu", empty without it
  bool libtorch_cuda = false;
  std::string arrow;             // "26.0.1", empty in a build that neither reads nor writes Parquet
  std::string libtorch_problem;  // why there is none in a build that was made with it; empty otherwise
};

struct DoctorFinding {
  std::string topic;    // "cores", "shm", "gpu", ...
  std::string found;    // what is so
  std::string advice;   // what it costs, and what to do
  std::string command;  // that does it; empty where no single command would
};

struct DoctorResult {
  BuildFacts build;
  MachineFacts machine;
  DeviceReport devices;
  std::vector<DoctorFinding> findings;  // the most costly first
};

// The compiler that compiled this library.
[[nodiscard]] std::string compiler_name();

// What follows from the facts: a pure function, tested on recorded machines. `uring_refusal`: storage's function.
[[nodiscard]] std::vector<DoctorFinding> find_faults(const BuildFacts& build, const MachineFacts& machine,
                                                     const DeviceReport& devices, int uring_refusal);

[[nodiscard]] DoctorResult run_doctor(const BuildFacts& build);

// {"build": {version, compiler, libtorch (null without), libtorch_cuda, arrow (null without), cuda_runtime (null
// without)}, "machine": see observe/facts.h, "devices": {driver (null without), reason (null when a device can be
// used), gpus[] (name, memory_bytes, capability)}, "findings": [{topic, found, advice, command}]}
[[nodiscard]] std::string to_json(const DoctorResult& result);
[[nodiscard]] std::string to_text(const DoctorResult& result);

}  // namespace unstarve
