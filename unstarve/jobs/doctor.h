#pragma once
// `unstarve doctor`: report configuration problems and how to fix them.
//
// Threads: pure functions except run_doctor(), which reads the machine. Failure: only std::bad_alloc; facts that cannot
// be read are left out.

#include <string>

#include "unstarve/jobs/doctor/doctor_facts.h"
#include "unstarve/jobs/doctor/findings.h"

namespace unstarve {

struct DoctorResult {
  DoctorFacts facts;
  DoctorFindings findings;  // of find_problems()
};

// The compiler that compiled this library.
[[nodiscard]] std::string compiler_name();

[[nodiscard]] DoctorResult run_doctor(const BuildFacts& build);

// {"build": {version, compiler, libtorch (null without), libtorch_cuda, libtorch_cpu (null if unknown), arrow (null
// without), cuda_runtime (null without)}, "machine": see observe/facts.h, "devices": {driver (null without), reason
// (null when a device can be used), gpus[] (name, memory_bytes, capability)}, "nvml": {driver, problem (null without),
// gpus[] (the members of GpuState)}, "python": {interpreter, version, pillow, ...} (null without Python), "findings":
// [{topic, found, advice, command}]}
[[nodiscard]] std::string to_json(const DoctorResult& result);
[[nodiscard]] std::string to_text(const DoctorResult& result);

}  // namespace unstarve
