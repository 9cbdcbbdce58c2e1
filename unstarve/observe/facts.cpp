#include "unstarve/observe/facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "unstarve/core/json.h"
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

std::string nodes_text(const MachineFacts& machine) {
  std::string text = std::to_string(machine.topology.numa_nodes);
  if (machine.nodes.empty() || machine.topology.numa_nodes == 1) return text;
  return text + fmt::format("; this process runs on {}", fmt::join(machine.nodes, ", "));
}

std::string limit_text(std::uint64_t limit) {
  return limit == std::numeric_limits<std::uint64_t>::max() ? "unlimited" : std::to_string(limit);
}

std::string open_files_text(const MachineFacts& machine) {
  if (machine.open_files == 0) return {};
  if (machine.open_files >= machine.open_files_most) return limit_text(machine.open_files);
  return fmt::format("{}, can be raised to {}", limit_text(machine.open_files), limit_text(machine.open_files_most));
}

std::string swap_text(const MachineFacts& machine) {
  if (machine.swap_bytes == 0) return {};
  return fmt::format("{}, {} used", format_bytes(machine.swap_bytes),
                     machine.swap_used_bytes > 0 ? format_bytes(machine.swap_used_bytes) : "nothing");
}

std::string tasks_text(const MachineFacts& machine) {
  return machine.tasks_most > 0 ? fmt::format("{} of at most {}", machine.tasks, machine.tasks_most) : "";
}

std::string accelerator_text(const PciAccelerator& accelerator) {
  std::string text = fmt::format("{} at {}", accelerator.vendor, accelerator.address);
  if (accelerator.numa_node >= 0) text += fmt::format(", NUMA node {}", accelerator.numa_node);
  return text + (accelerator.driver.empty() ? ", no driver" : ", driver " + accelerator.driver);
}

}  // namespace

std::vector<Fact> describe(const MachineFacts& machine) {
  std::string sets;
  for (const std::string& set : machine.instruction_sets) sets += (sets.empty() ? "" : " ") + set;
  std::vector<Fact> facts{{"CPU", machine.cpu_model},
                          {"cores", usable_cores_text(machine.topology)},
                          {"NUMA nodes", nodes_text(machine)},
                          {"instruction sets", sets},
                          {"memory", bytes_text(machine.memory_bytes)},
                          {"memory limit", bytes_text(machine.memory_limit_bytes)},
                          {"memory available", bytes_text(machine.memory_available_bytes)},
                          {"swap", swap_text(machine)},
                          {"last-level cache", bytes_text(machine.last_level_cache_bytes)},
                          {"/dev/shm", bytes_text(machine.shm_bytes)},
                          {"open files", open_files_text(machine)},
                          {"transparent huge pages", machine.transparent_huge_pages},
                          {"frequency governor", machine.governor},
                          {"energy preference", machine.energy_preference},
                          {"tasks", tasks_text(machine)},
                          {"turbo", machine.turbo_off ? "off" : ""},
                          {"kernel", machine.kernel},
                          {"virtual machine", machine.hypervisor},
                          {"container", machine.container}};
  for (const PciAccelerator& accelerator : machine.accelerators)
    facts.push_back({"accelerator", accelerator_text(accelerator)});
  return facts;
}

// The names of the fields in JSON are those of the members.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MachineFacts, cpu_model, instruction_sets, memory_bytes, memory_limit_bytes,
                                   memory_available_bytes, killed_for_memory, swap_bytes, swap_used_bytes,
                                   last_level_cache_bytes, shm_bytes, transparent_huge_pages, governor,
                                   energy_preference, turbo_off, open_files, open_files_most, tasks, tasks_most, nodes,
                                   container, kernel, hypervisor)

std::string to_json(const MachineFacts& machine) {
  using nlohmann::json;
  const Topology& t = machine.topology;
  json accelerators = json::array();
  for (const PciAccelerator& accelerator : machine.accelerators) {
    accelerators.push_back({{"address", accelerator.address},
                            {"vendor", accelerator.vendor},
                            {"driver", accelerator.driver},
                            {"numa_node", accelerator.numa_node >= 0 ? json(accelerator.numa_node) : json()}});
  }
  json all(machine);
  all["cores"] = {{"usable", t.usable()},       {"online", t.online},
                  {"affinity", t.affinity},     {"quota", t.quota > 0 ? json(t.quota) : json()},
                  {"numa_nodes", t.numa_nodes}, {"threads_per_core", t.threads_per_core}};
  all["accelerators"] = std::move(accelerators);
  return json_text(all);
}

}  // namespace unstarve
