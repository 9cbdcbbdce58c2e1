#pragma once
// The machine's facts that matter to training: what `doctor` prints and every report carries.
//
// Read from cpuid, /proc, /sys and cgroup files under `root`, so that tests run on recorded trees.
// Failure: never throws but std::bad_alloc; a fact that cannot be read is empty or 0.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "unstarve/core/topology.h"

namespace unstarve {

struct MachineFacts {
  std::string cpu_model;
  Topology topology;
  std::vector<std::string> instruction_sets;  // "avx2", "avx512", "avx512_bf16", "amx_bf16", "neon", ...
  std::uint64_t memory_bytes = 0;             // physical
  std::uint64_t memory_limit_bytes = 0;       // cgroup's, 0 when none
  std::uint64_t memory_available_bytes = 0;   // without swapping, within the limit
  std::uint64_t last_level_cache_bytes = 0;   // the one that processor 0 uses
  std::uint64_t shm_bytes = 0;                // size of /dev/shm
  std::string transparent_huge_pages;         // "always", "madvise", "never"
  std::string governor;                       // "performance", ...; empty when not exposed
  std::string kernel;
  std::string hypervisor;  // "kvm", "Amazon EC2 m7g.large", "of unknown kind"; empty on bare metal

  [[nodiscard]] bool has(const std::string& instruction_set) const;
};

[[nodiscard]] MachineFacts read_machine_facts(const std::filesystem::path& root = "/");

}  // namespace unstarve
