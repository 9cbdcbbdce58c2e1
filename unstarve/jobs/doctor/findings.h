#pragma once
// The configuration problems that follow from facts, each with its effect and the command that fixes it.
//
// Threads: pure functions. Failure: only std::bad_alloc; unknown facts give no finding.

#include <string>
#include <vector>

#include "unstarve/jobs/doctor/doctor_facts.h"

namespace unstarve {

struct DoctorFinding {
  std::string topic;    // "cores", "shm", "gpu", ...
  std::string found;    // the fact
  std::string advice;   // its effect and the fix
  std::string command;  // that applies the fix, or begins it
};
using DoctorFindings = std::vector<DoctorFinding>;

// The problems of all facts, devices first.
[[nodiscard]] DoctorFindings find_problems(const DoctorFacts& facts);

// Parts of find_problems().
void find_gpu_problems(const DoctorFacts& facts, DoctorFindings& findings);
void find_memory_problems(const MachineFacts& machine, DoctorFindings& findings);
// CPU time and NUMA nodes. `gpus`: their number.
void find_core_problems(const MachineFacts& machine, std::size_t gpus, DoctorFindings& findings);
// Libraries that were built without the instruction sets of the CPU.
void find_library_problems(const DoctorFacts& facts, DoctorFindings& findings);

}  // namespace unstarve
