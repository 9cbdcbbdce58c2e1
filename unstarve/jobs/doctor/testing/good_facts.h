#pragma once
// Facts for tests.
#include "unstarve/jobs/doctor/doctor_facts.h"

namespace unstarve::testing {

// A machine and a build that have no problems.
inline DoctorFacts good_facts() {
  DoctorFacts facts;
  facts.build = {"0.1.0", "gcc 12.2.0", "2.13.0+cu130", true, "AVX512", "26.0.1", "", ""};

  MachineFacts& machine = facts.machine;
  machine.cpu_model = "AMD EPYC 9575F";
  machine.topology.online = machine.topology.affinity = 16;
  machine.instruction_sets = {"avx2", "avx512", "avx512_bf16"};
  machine.memory_bytes = machine.memory_available_bytes = std::uint64_t{128} << 30;
  machine.shm_bytes = std::uint64_t{64} << 30;
  machine.transparent_huge_pages = "madvise";
  machine.governor = "performance";
  machine.open_files = machine.open_files_most = 1'048'576;

  facts.devices.cuda_in_build = true;
  facts.devices.cuda_runtime = facts.devices.driver = "13.0";
  facts.devices.gpus = {{"NVIDIA H200", std::size_t{139} << 30, 9, 0}};

  GpuState gpu;
  gpu.name = "NVIDIA H200";
  gpu.persistence = gpu.ecc = true;
  gpu.link_generation = gpu.link_generation_most = 5;
  gpu.link_lanes = gpu.link_lanes_most = 16;
  gpu.performance_state = 0;
  gpu.power_limit_w = gpu.power_limit_default_w = 700;
  gpu.clock_mhz = gpu.clock_most_mhz = 1980;
  gpu.memory_bytes = std::uint64_t{139} << 30;
  gpu.memory_used_bytes = std::uint64_t{500} << 20;
  facts.gpus = {NvmlProblem::kNone, "", "580.65.06", {gpu}};

  facts.python = {"/usr/bin/python3", "3.11.2", "9.5.0", true, true};
  return facts;
}

}  // namespace unstarve::testing
