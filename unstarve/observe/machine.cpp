#include "unstarve/observe/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "unstarve/core/machine/cgroup.h"
#include "unstarve/observe/kernel_files.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

using kernel::first_line;
using kernel::Keys;
using kernel::parse_bytes;
using kernel::parse_keys;
using kernel::parse_list;
using kernel::read_text;
using kernel::value_of;
using kernel::words;

struct NamedFlag {
  const char* name;  // as shown to users
  const char* flag;  // in /proc/cpuinfo
};

// Ordered from old to new. x86 names are those of arch/x86/include/asm/cpufeatures.h, Arm's those of
// arch/arm64/kernel/cpuinfo.c in Linux.
constexpr std::array<NamedFlag, 19> kFlags = {{{"sse4_2", "sse4_2"},
                                               {"avx", "avx"},
                                               {"f16c", "f16c"},
                                               {"fma", "fma"},
                                               {"avx2", "avx2"},
                                               {"avx_vnni", "avx_vnni"},
                                               {"avx512_vnni", "avx512_vnni"},
                                               {"avx512_bf16", "avx512_bf16"},
                                               {"avx512_fp16", "avx512_fp16"},
                                               {"amx_int8", "amx_int8"},
                                               {"amx_bf16", "amx_bf16"},
                                               {"amx_fp16", "amx_fp16"},
                                               {"neon", "asimd"},
                                               {"neon_fp16", "asimdhp"},
                                               {"neon_dotprod", "asimddp"},
                                               {"neon_i8mm", "i8mm"},
                                               {"neon_bf16", "bf16"},
                                               {"sve", "sve"},
                                               {"sve2", "sve2"}}};
// The subset that compilers and libraries call AVX-512 (x86-64-v4).
constexpr std::array<const char*, 5> kAvx512 = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};

std::vector<std::string> instruction_sets(const std::vector<std::string>& flags) {
  const auto has = [&](const char* flag) { return std::ranges::find(flags, flag) != flags.end(); };
  std::vector<std::string> sets;
  for (const NamedFlag& named : kFlags) {
    if (has(named.flag)) sets.emplace_back(named.name);
    const bool after_avx2 = std::string_view(named.name) == "avx2";
    if (after_avx2 && std::ranges::all_of(kAvx512, has)) sets.emplace_back("avx512");
  }
  return sets;
}

// Arm CPUs report numbers instead of a name: implementer 0x41 is Arm; part numbers as in arch/arm64/include/asm/
// cputype.h of Linux.
std::string arm_model(const Keys& cpuinfo) {
  const std::string implementer = value_of(cpuinfo, "CPU implementer");
  const std::string part = value_of(cpuinfo, "CPU part");
  if (implementer.empty()) return {};
  struct Part {
    const char* number;
    const char* name;
  };
  static constexpr std::array<Part, 8> kParts = {{{"0xd08", "Arm Cortex-A72"},
                                                  {"0xd0b", "Arm Cortex-A76"},
                                                  {"0xd0c", "Arm Neoverse N1"},
                                                  {"0xd40", "Arm Neoverse V1"},
                                                  {"0xd49", "Arm Neoverse N2"},
                                                  {"0xd4f", "Arm Neoverse V2"},
                                                  {"0xd83", "Arm Neoverse V3-AE"},
                                                  {"0xd84", "Arm Neoverse V3"}}};
  for (const Part& known : kParts) {
    if (implementer == "0x41" && part == known.number) return known.name;
  }
  return fmt::format("Arm implementer {} part {}", implementer, part);
}

// Size of the highest-level cache of CPU 0; a machine with several sockets or dies has several.
std::uint64_t last_level_cache(const fs::path& root) {
  int highest = 0;
  std::uint64_t bytes = 0;
  for (int index = 0; index < 8; ++index) {
    const fs::path cache = root / "sys/devices/system/cpu/cpu0/cache" / fmt::format("index{}", index);
    const int level = static_cast<int>(parse_bytes(first_line(cache / "level")));
    if (level <= highest || first_line(cache / "type") == "Instruction") continue;
    highest = level;
    bytes = parse_bytes(first_line(cache / "size"));
  }
  return bytes;
}

// Processes in `directory` or below that the kernel killed for lack of memory; none if the directory is not visible.
std::optional<std::uint64_t> kills_of_group(const fs::path& directory, bool v2) {
  const auto events = parse_keys(read_text(directory / (v2 ? "memory.events" : "memory.oom_control")), ' ');
  const std::string count = value_of(events, "oom_kill");
  if (count.empty()) return {};
  return parse_bytes(count);
}

// The lowest limit on the path from the group of this process to the root, and the memory left below that limit.
void read_memory_limit(const fs::path& root, MachineFacts& facts) {
  std::optional<std::uint64_t> kills;  // of the group closest to this process
  for (const Cgroup& group : memory_groups(root, "self")) {
    if (!kills) kills = kills_of_group(group.folder, group.v2);
    const std::uint64_t limit = memory_limit(group);
    if (limit == 0 || (facts.memory_bytes > 0 && limit >= facts.memory_bytes)) continue;
    if (facts.memory_limit_bytes == 0 || limit < facts.memory_limit_bytes) facts.memory_limit_bytes = limit;
    // Inactive page cache counts as used, but the kernel reclaims it on demand.
    const std::uint64_t cache = memory_stat(group, group.v2 ? "inactive_file" : "total_inactive_file");
    const std::uint64_t used =
        parse_bytes(first_line(group.folder / (group.v2 ? "memory.current" : "memory.usage_in_bytes")));
    const std::uint64_t held = used > cache ? used - cache : 0;
    facts.memory_available_bytes = std::min(facts.memory_available_bytes, limit > held ? limit - held : 0);
  }
  facts.killed_for_memory = kills.value_or(0);
}

// The limit of processes and threads that leaves fewest of them.
void read_task_limit(const fs::path& root, MachineFacts& facts) {
  for (const Cgroup& group : memory_groups(root, "self")) {
    const std::uint64_t limit = group.v2 ? parse_bytes(first_line(group.folder / "pids.max")) : 0;  // 0 of "max"
    if (limit == 0) continue;
    const std::uint64_t used = std::min(parse_bytes(first_line(group.folder / "pids.current")), limit);
    if (facts.tasks_most > 0 && facts.tasks_most - facts.tasks <= limit - used) continue;
    facts.tasks = used;
    facts.tasks_most = limit;
  }
}

// The values of a file of all CPUs: each once, sorted.
std::string of_all_cpus(const fs::path& root, const char* file) {
  std::set<std::string> values;
  for (const int cpu : parse_list(first_line(root / "sys/devices/system/cpu/online"))) {
    const std::string value = first_line(root / fmt::format("sys/devices/system/cpu/cpu{}/cpufreq", cpu) / file);
    if (!value.empty()) values.insert(value);
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

// Some drivers have only the governors "performance" and "powersave", which also raises the frequency on demand, and
// a preference (Documentation/admin-guide/pm/intel_pstate.rst, amd-pstate.rst: active mode).
void read_frequencies(const fs::path& root, MachineFacts& facts) {
  facts.governor = of_all_cpus(root, "scaling_governor");
  const std::string driver = of_all_cpus(root, "scaling_driver");
  if (driver != "intel_pstate" && driver != "amd-pstate-epp") return;
  facts.energy_preference = of_all_cpus(root, "energy_performance_preference");
  if (facts.energy_preference.empty()) facts.energy_preference = "none";
}

// From the mount options; the default size of a tmpfs is half of the memory (Documentation/filesystems/tmpfs.rst).
std::uint64_t shm_size(const fs::path& root, std::uint64_t memory_bytes) {
  std::uint64_t bytes = 0;
  std::istringstream lines(read_text(root / "proc/self/mounts"));
  for (std::string line; std::getline(lines, line);) {
    const auto fields = words(line);
    if (fields.size() < 4 || fields[1] != "/dev/shm" || fields[2] != "tmpfs") continue;
    bytes = memory_bytes / 2;
    std::istringstream options(fields[3]);
    for (std::string option; std::getline(options, option, ',');) {
      if (option.starts_with("size=")) bytes = parse_bytes(std::string_view(option).substr(5));
    }
  }
  return bytes;
}

// A line of /proc/PID/limits: "Max open files   SOFT   HARD   files". A limit of "unlimited" is the largest number.
void read_open_files(const fs::path& root, MachineFacts& facts) {
  constexpr std::string_view kName = "Max open files";
  std::istringstream lines(read_text(root / "proc/self/limits"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kName)) continue;
    const auto fields = words(line.substr(kName.size()));
    if (fields.size() < 2) return;
    const auto limit = [](const std::string& text) {
      return text == "unlimited" ? std::numeric_limits<std::uint64_t>::max() : parse_bytes(text);
    };
    facts.open_files = limit(fields[0]);
    facts.open_files_most = limit(fields[1]);
  }
}

// The NUMA nodes that have a CPU of the affinity mask.
std::vector<int> nodes_of_process(const fs::path& root) {
  const auto status = parse_keys(read_text(root / "proc/self/status"), ':');
  const std::vector<int> mask = parse_list(value_of(status, "Cpus_allowed_list"));
  std::vector<int> nodes;
  for (const int node : parse_list(first_line(root / "sys/devices/system/node/online"))) {
    const auto cpus = parse_list(first_line(root / fmt::format("sys/devices/system/node/node{}/cpulist", node)));
    if (std::find_first_of(mask.begin(), mask.end(), cpus.begin(), cpus.end()) != mask.end()) nodes.push_back(node);
  }
  return nodes;
}

// By the files that the programs which start containers leave in them.
std::string find_container(const fs::path& root) {
  std::error_code ignored;
  const auto exists = [&](const char* path) { return fs::exists(root / path, ignored); };
  if (exists("var/run/secrets/kubernetes.io") || exists("run/secrets/kubernetes.io")) return "kubernetes";
  if (exists("run/.containerenv")) return "podman";
  if (exists(".dockerenv")) return "docker";
  return {};
}

// The selected value, which is in brackets: "always [madvise] never".
std::string bracketed(const std::string& text) {
  const auto open = text.find('[');
  const auto close = text.find(']', open);
  return open == std::string::npos || close == std::string::npos ? text : text.substr(open + 1, close - open - 1);
}

std::string find_hypervisor(const fs::path& root, const std::vector<std::string>& flags) {
  const std::string type = first_line(root / "sys/hypervisor/type");
  if (!type.empty()) return type;
  const std::string vendor = first_line(root / "sys/class/dmi/id/sys_vendor");
  const std::string product = first_line(root / "sys/class/dmi/id/product_name");
  const bool flagged = std::ranges::find(flags, "hypervisor") != flags.end();
  // Arm has no hypervisor flag: cloud machines are recognised by their vendor, unless the product is bare metal.
  const bool bare = product.find("metal") != std::string::npos;
  const bool maker = vendor == "QEMU" || vendor == "Amazon EC2" || vendor == "Google" || vendor == "VMware, Inc.";
  const bool arm = std::ranges::find(flags, "asimd") != flags.end();
  if (!flagged && !(arm && maker && !bare)) return {};
  if (vendor.empty()) return "unknown kind";
  return product.empty() ? vendor : vendor + " " + product;
}

}  // namespace

bool MachineFacts::has(const std::string& instruction_set) const {
  return std::ranges::find(instruction_sets, instruction_set) != instruction_sets.end();
}

MachineFacts read_machine_facts(const fs::path& root) {
  MachineFacts facts;
  facts.topology = read_topology(root);

  const auto cpuinfo = parse_keys(read_text(root / "proc/cpuinfo"), ':');
  std::vector<std::string> flags = words(value_of(cpuinfo, "flags"));
  if (flags.empty()) flags = words(value_of(cpuinfo, "Features"));
  facts.instruction_sets = instruction_sets(flags);
  facts.cpu_model = value_of(cpuinfo, "model name");
  if (facts.cpu_model.empty()) facts.cpu_model = arm_model(cpuinfo);

  const auto meminfo = parse_keys(read_text(root / "proc/meminfo"), ':');
  facts.memory_bytes = parse_bytes(value_of(meminfo, "MemTotal"));
  facts.memory_available_bytes = parse_bytes(value_of(meminfo, "MemAvailable"));
  read_memory_limit(root, facts);
  facts.swap_bytes = parse_bytes(value_of(meminfo, "SwapTotal"));
  facts.swap_used_bytes = facts.swap_bytes - std::min(facts.swap_bytes, parse_bytes(value_of(meminfo, "SwapFree")));
  read_open_files(root, facts);
  facts.nodes = nodes_of_process(root);
  facts.accelerators = read_pci_accelerators(root);
  facts.container = find_container(root);

  facts.last_level_cache_bytes = last_level_cache(root);
  facts.shm_bytes = shm_size(root, facts.memory_bytes);
  facts.transparent_huge_pages = bracketed(first_line(root / "sys/kernel/mm/transparent_hugepage/enabled"));
  read_frequencies(root, facts);
  read_task_limit(root, facts);
  facts.turbo_off = first_line(root / "sys/devices/system/cpu/intel_pstate/no_turbo") == "1" ||
                    first_line(root / "sys/devices/system/cpu/cpufreq/boost") == "0";
  facts.kernel = first_line(root / "proc/sys/kernel/osrelease");
  facts.hypervisor = find_hypervisor(root, flags);
  return facts;
}

bool int8_sums_may_overflow(const MachineFacts& machine) {
  return machine.has("avx2") && !machine.has("avx512_vnni") && !machine.has("avx_vnni");
}

}  // namespace unstarve
