#include "unstarve/core/machine/topology.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string_view>

#include "unstarve/core/machine/cgroup.h"
#include "unstarve/core/machine/cpu_split.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// The number of CPUs in a kernel list such as "0-3,8,10-11"; 0 if the text is not a list.
int count_of_list(const std::string& text) {
  std::istringstream in(text);
  long total = 0, first = 0;
  while (in >> first) {
    long last = first;
    if (in.peek() == '-') {
      in.get();
      if (!(in >> last)) return 0;
    }
    if (first < 0 || last < first || last > 1 << 20) return 0;  // no machine has a million CPUs
    total += last - first + 1;
    if (in.peek() != ',') break;
    in.get();
  }
  return static_cast<int>(std::min<long>(total, 1 << 20));
}

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "/sys/..." below the root under test.
fs::path under(const fs::path& root, const fs::path& absolute) { return root / absolute.relative_path(); }

// A file of the process in /proc; `process` is its number or "self".
fs::path of_process(const fs::path& root, const std::string& process, const char* file) {
  return under(root, "/proc") / process / file;
}

int affinity_of_status(const fs::path& root, const std::string& process) {
  std::ifstream file(of_process(root, process, "status"));
  constexpr std::string_view kKey = "Cpus_allowed_list:";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kKey)) return count_of_list(line.substr(kKey.size()));
  }
  return 0;
}

}  // namespace

int Topology::usable() const {
  const int whole = quota > 0 ? static_cast<int>(std::min(std::floor(quota), 1e6)) : affinity;
  return std::max(1, std::min(affinity, whole));
}

Topology read_topology(const fs::path& root, const std::string& process) {
  Topology topology;
  const bool live = root == "/" && process == "self";
  const int affinity = live ? static_cast<int>(cpus_of_thread().size()) : affinity_of_status(root, process);
  const int online = count_of_list(first_line(under(root, "/sys/devices/system/cpu/online")));
  topology.online = std::max({1, online, online == 0 ? affinity : 0});
  topology.affinity = affinity > 0 ? affinity : topology.online;
  topology.numa_nodes = std::max(1, count_of_list(first_line(under(root, "/sys/devices/system/node/online"))));
  topology.threads_per_core =
      std::max(1, count_of_list(first_line(under(root, "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"))));
  for (const Cgroup& group : cpu_groups(root, process)) {
    const double quota = cpu_quota(group);
    if (quota > 0 && (topology.quota == 0 || quota < topology.quota)) topology.quota = quota;
  }
  return topology;
}

int threads_up_to(int most) { return std::clamp(static_cast<int>(cpus_of_thread().size()), 1, most); }

}  // namespace unstarve
