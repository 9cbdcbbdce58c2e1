#include "unstarve/observe/facts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

std::string bytes_text(std::uint64_t bytes) { return bytes > 0 ? format_bytes(bytes) : std::string(); }

std::string usable_cores_text(const Topology& t) {
  std::string text = fmt::format("{} usable", t.usable());
  if (t.affinity != t.online) text += fmt::format(", {} of {} in the affinity mask", t.affinity, t.online);
  if (t.quota > 0) text += fmt::format(", cgroup quota {:.4g}", t.quota);
  if (t.threads_per_core > 1) text += fmt::format(", {} threads per core", t.threads_per_core);
  return text;
}

}  // namespace

std::vector<Fact> describe(const MachineFacts& machine) {
  std::string sets;
  for (const std::string& set : machine.instruction_sets) sets += (sets.empty() ? "" : " ") + set;
  return {{"CPU", machine.cpu_model},
          {"cores", usable_cores_text(machine.topology)},
          {"NUMA nodes", std::to_string(machine.topology.numa_nodes)},
          {"instruction sets", sets},
          {"memory", bytes_text(machine.memory_bytes)},
          {"memory limit", bytes_text(machine.memory_limit_bytes)},
          {"memory available", bytes_text(machine.memory_available_bytes)},
          {"last-level cache", bytes_text(machine.last_level_cache_bytes)},
          {"/dev/shm", bytes_text(machine.shm_bytes)},
          {"transparent huge pages", machine.transparent_huge_pages},
          {"frequency governor", machine.governor},
          {"kernel", machine.kernel},
          {"virtual machine", machine.hypervisor}};
}

std::string to_json(const MachineFacts& machine) {
  using nlohmann::json;
  const Topology& t = machine.topology;
  const json all = {{"cpu_model", machine.cpu_model},
                    {"cores",
                     {{"usable", t.usable()},
                      {"online", t.online},
                      {"affinity", t.affinity},
                      {"quota", t.quota > 0 ? json(t.quota) : json()},
                      {"numa_nodes", t.numa_nodes},
                      {"threads_per_core", t.threads_per_core}}},
                    {"instruction_sets", machine.instruction_sets},
                    {"memory_bytes", machine.memory_bytes},
                    {"memory_limit_bytes", machine.memory_limit_bytes},
                    {"memory_available_bytes", machine.memory_available_bytes},
                    {"last_level_cache_bytes", machine.last_level_cache_bytes},
                    {"shm_bytes", machine.shm_bytes},
                    {"transparent_huge_pages", machine.transparent_huge_pages},
                    {"governor", machine.governor},
                    {"kernel", machine.kernel},
                    {"hypervisor", machine.hypervisor}};
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace unstarve
