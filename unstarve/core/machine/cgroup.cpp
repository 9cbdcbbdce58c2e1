#include "unstarve/core/machine/cgroup.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// "/sys/..." below the root under test.
fs::path below(const fs::path& root, const fs::path& absolute) { return root / absolute.relative_path(); }

// Whether the comma-separated `list` contains `word`.
bool lists(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == word) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

// The mount point of a cgroup hierarchy and the folder of the hierarchy that is mounted there ("/" except in some
// containers).
struct Mount {
  fs::path point;
  std::string top = "/";
};

// A line of mountinfo (proc(5)): id parent device ROOT POINT options [tags...] - TYPE source SUPER_OPTIONS.
// `controller`: of v1; "": v2.
std::optional<Mount> find_mount(const fs::path& root, const std::string& controller) {
  const bool v2 = controller.empty();
  std::ifstream file(below(root, "/proc/self/mountinfo"));
  for (std::string line; std::getline(file, line);) {
    if (line.find("cgroup") == std::string::npos) continue;  // most lines; parsing one takes microseconds
    std::istringstream words(line);
    std::string id, parent, device, top, point, word, type, source, options;
    words >> id >> parent >> device >> top >> point;
    while (words >> word && word != "-") {
    }
    words >> type >> source >> options;
    if (v2 ? type == "cgroup2" : (type == "cgroup" && lists(options, controller))) return Mount{point, top};
  }
  const fs::path standard = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controller;
  std::error_code ignored;
  if (fs::is_directory(below(root, standard), ignored)) return Mount{standard, "/"};
  return std::nullopt;
}

// The process's folder in the hierarchy: "0::PATH" in v2, "N:...,cpu,...:PATH" in v1 (cgroups(7)).
// `controller`: as above.
std::optional<std::string> find_group(const fs::path& root, const std::string& process, const std::string& controller) {
  std::ifstream file(below(root, "/proc") / process / "cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? line.starts_with("0::") : lists(controllers, controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

// The process's folder and those above it, up to the mount: a parent's limit applies to its children.
void add_groups(std::vector<Cgroup>& groups, const fs::path& root, const std::string& process,
                const std::string& controller) {
  const auto mount = find_mount(root, controller);
  const auto group = find_group(root, process, controller);
  if (!mount || !group) return;
  std::string inside = *group;
  // The path is relative to the root of the hierarchy or of our namespace. Folders above the mount are not visible.
  if (mount->top != "/" && inside.starts_with(mount->top)) inside.erase(0, mount->top.size());
  if (inside.find("..") != std::string::npos) inside.clear();
  const fs::path top = below(root, mount->point);
  for (fs::path relative = fs::path(inside).relative_path();; relative = relative.parent_path()) {
    groups.push_back({top / relative, controller.empty()});
    if (relative.empty()) return;
  }
}

std::vector<Cgroup> groups_of(const fs::path& root, const std::string& process, const std::string& controller) {
  std::vector<Cgroup> groups;
  add_groups(groups, root, process, "");
  add_groups(groups, root, process, controller);
  return groups;
}

}  // namespace

std::vector<Cgroup> cpu_groups(const fs::path& root, const std::string& process) {
  return groups_of(root, process, "cpu");
}

std::vector<Cgroup> memory_groups(const fs::path& root, const std::string& process) {
  return groups_of(root, process, "memory");
}

std::uint64_t memory_limit(const Cgroup& group) {
  constexpr std::uint64_t kNone = std::uint64_t{1} << 62;  // v1 writes a number near 2^63, v2 "max"
  std::uint64_t limit = kNone, value = 0;
  const auto lower = [&] { limit = value > 0 ? std::min(limit, value) : limit; };
  if (std::ifstream(group.folder / (group.v2 ? "memory.max" : "memory.limit_in_bytes")) >> value) lower();
  if (!group.v2) {
    value = memory_stat(group, "hierarchical_memory_limit");
    lower();
  }
  return limit < kNone ? limit : 0;
}

std::uint64_t memory_stat(const Cgroup& group, std::string_view key) {
  std::ifstream stat(group.folder / "memory.stat");
  std::uint64_t value = 0;
  for (std::string word; stat >> word >> value;)
    if (word == key) return value;
  return 0;
}

// v2: "cpu.max" contains "QUOTA|max PERIOD" in microseconds. v1: "cpu.cfs_quota_us" (-1: none) and "cpu.cfs_period_us"
// contain one number each.
double cpu_quota(const Cgroup& cgroup) {
  double quota = 0, period = 0;
  if (cgroup.v2) {
    std::ifstream(cgroup.folder / "cpu.max") >> quota >> period;
  } else {
    std::ifstream(cgroup.folder / "cpu.cfs_quota_us") >> quota;
    std::ifstream(cgroup.folder / "cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

}  // namespace unstarve
