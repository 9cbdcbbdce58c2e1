#pragma once
// Machine properties that affect training speed, as printed by `doctor` and included in every report.
//
// Source:  cpuid, /proc, /sys and cgroup files under `root` (tests pass recorded trees).
// Failure: never throws except std::bad_alloc; a value that cannot be read is empty or 0.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "unstarve/core/machine/topology.h"
#include "unstarve/observe/pci_accelerators.h"

namespace unstarve {

struct MachineFacts {
  std::string cpu_model;
  Topology topology;
  std::vector<std::string> instruction_sets;  // "avx2", "avx512", "avx512_bf16", "amx_bf16", "neon", ...
  std::uint64_t memory_bytes = 0;             // physical
  std::uint64_t memory_limit_bytes = 0;       // of the cgroup; 0: none
  std::uint64_t memory_available_bytes = 0;   // without swapping, within the limit
  std::uint64_t killed_for_memory = 0;        // processes of the cgroup that the kernel killed for it
  std::uint64_t swap_bytes = 0;
  std::uint64_t swap_used_bytes = 0;
  std::uint64_t last_level_cache_bytes = 0;  // of CPU 0
  std::uint64_t shm_bytes = 0;               // size of /dev/shm
  std::string transparent_huge_pages;        // "always", "madvise" or "never"
  std::string governor;           // of all CPUs: "performance", or "performance, powersave"; empty when not exposed
  std::string energy_preference;  // of all CPUs: "balance_power", ...; only if the driver chooses the frequency by it,
                                  // so that the governor "powersave" does not lower the frequency
  bool turbo_off = false;         // frequencies above the nominal one are switched off
  std::uint64_t open_files = 0;   // soft limit; 0: unknown
  std::uint64_t open_files_most = 0;  // hard limit, to which a process may raise the soft one
  std::uint64_t tasks = 0;            // processes and threads of the cgroup with the lowest limit
  std::uint64_t tasks_most = 0;       // that limit (pids.max); 0: none
  std::vector<int> nodes;             // NUMA nodes of the CPUs in the affinity mask; empty: unknown
  std::vector<PciAccelerator> accelerators;
  std::string container;  // "docker", "podman", "kubernetes"; empty outside of one, or unknown
  std::string kernel;
  std::string hypervisor;  // "kvm", "Amazon EC2 m7g.large", "unknown kind"; empty on bare metal

  [[nodiscard]] bool has(const std::string& instruction_set) const;
};

[[nodiscard]] MachineFacts read_machine_facts(const std::filesystem::path& root = "/");

// Whether sums of products of uint8 and int8 may overflow: those of 16 bits, on x86 without VNNI.
[[nodiscard]] bool int8_sums_may_overflow(const MachineFacts& machine);

}  // namespace unstarve
