#pragma once
// The environment variables by which a process gets its host settings. Most are read when a library is loaded; two are
// read before main(), so that the process has to start with them:
//
//   wait_policy    GOMP_SPINCOUNT, OMP_WAIT_POLICY                when libgomp is loaded, with libtorch
//   huge_pages     THP_MEM_ALLOC_ENABLE                           by libtorch's first allocation
//                  GLIBC_TUNABLES, or a variable of the allocator at the start
//   allocator      LD_PRELOAD                                     at the start
//   affinity       none: core/machine/cpu_split.h
//
// A variable that the user has set is never changed; LD_PRELOAD and lists in others are extended.
//
// Threads: user_environment() for the first time before other threads start, else any.

#include <map>
#include <string>
#include <vector>

#include "unstarve/jobs/host/host_settings.h"

namespace unstarve {

using Environment = std::map<std::string, std::string>;

struct FoundAllocator {
  HeapAllocator name = HeapAllocator::kSystem;
  std::string path;
};

// What decides how host settings are applied.
struct HostFacts {
  Environment user;                        // the variables that the user has set
  std::vector<FoundAllocator> allocators;  // libraries on this machine
};

// The variables of this process at the first call.
[[nodiscard]] const Environment& user_environment();
[[nodiscard]] HostFacts read_host_facts();
// The allocators in these folders, one library each.
[[nodiscard]] std::vector<FoundAllocator> find_allocators(const std::vector<std::string>& folders);

// Why this machine cannot apply the allocator, with the package that has it; "": it can, or a variable of the user
// replaces it.
[[nodiscard]] std::string missing_allocator(HeapAllocator allocator, const HostFacts& facts);

// Throws Error(kMissing) with this reason.
void check_allocator(const HostSettings& settings);

struct StartEnvironment {
  Environment variables;             // to set, in addition to the user's
  bool needs_start = false;          // the process has to start with them
  std::string library;               // path of the allocator in LD_PRELOAD; "": none
  std::vector<std::string> ignored;  // settings that variables of the user replace, each with the variable
};

// Throws Error(kMissing) with missing_allocator().
[[nodiscard]] StartEnvironment environment_for(const HostSettings& settings, const HostFacts& facts);

// The user's variable that replaces a host setting, as "the environment has NAME=VALUE"; empty: none.
[[nodiscard]] std::string wait_policy_of_user(const Environment& user);
[[nodiscard]] std::string allocator_of_user(const Environment& user);
[[nodiscard]] std::string huge_pages_of_user(const Environment& user);

// Whether the library at `path` is loaded into this process.
[[nodiscard]] bool is_loaded(const std::string& path);
// Throws Error(kMissing) if LD_PRELOAD has the allocator of `settings`, but the system has not loaded it. `facts`: of
// this process.
void require_loaded(const HostSettings& settings, const HostFacts& facts);

}  // namespace unstarve
