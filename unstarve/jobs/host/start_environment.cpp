#include "unstarve/jobs/host/start_environment.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// Passes of libgomp's waiting loop, some ten microseconds: as long as the time between many operators.
constexpr const char* kBriefSpins = "1000";

struct AllocatorLibrary {
  HeapAllocator name;
  std::array<const char*, 2> files;
  const char* package;   // of Debian
  const char* variable;  // that requests huge pages; null: none
  const char* request;
};
constexpr std::array kLibraries{
    AllocatorLibrary{
        HeapAllocator::kJemalloc, {"libjemalloc.so.2", "libjemalloc.so"}, "libjemalloc2", "MALLOC_CONF", "thp:always"},
    AllocatorLibrary{HeapAllocator::kTcmalloc,
                     {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4"},
                     "libtcmalloc-minimal4",
                     nullptr,
                     nullptr},
    AllocatorLibrary{HeapAllocator::kMimalloc,
                     {"libmimalloc.so.2", "libmimalloc.so.3"},
                     "libmimalloc2.0",
                     "MIMALLOC_LARGE_OS_PAGES",
                     "1"},
};
// A request of huge pages to the C library's allocator, glibc 2.35 or newer.
constexpr const char* kTunables = "GLIBC_TUNABLES";
constexpr std::string_view kTunable = "glibc.malloc.hugetlb";
constexpr const char* kTensorPages = "THP_MEM_ALLOC_ENABLE";
constexpr const char* kPreload = "LD_PRELOAD";

const AllocatorLibrary& library_of(HeapAllocator name) {
  return *std::ranges::find_if(kLibraries, [&](const auto& each) { return each.name == name; });
}

std::string_view value_of(const Environment& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string_view() : std::string_view(found->second);
}

std::string appended(std::string_view list, std::string_view entry, char separator) {
  return list.empty() ? std::string(entry) : fmt::format("{}{}{}", list, separator, entry);
}

// Folders of shared libraries: LD_LIBRARY_PATH, that of the C library, and common ones.
std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  std::string_view rest = value_of(user_environment(), "LD_LIBRARY_PATH");
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&::getpid), &info) != 0 && info.dli_fname != nullptr) {
    const fs::path folder = fs::path(info.dli_fname).parent_path();
    folders.push_back(folder.string());
    folders.push_back("/usr" + folder.string());
  }
  for (const char* const folder : {"/usr/local/lib", "/usr/local/lib64", "/usr/lib64", "/usr/lib"})
    folders.emplace_back(folder);
  return folders;
}

template <class Value>
void ignore(const char* name, Value value, const std::string& reason, StartEnvironment& start) {
  start.ignored.push_back(fmt::format("{} {}: ignored, because {}", name, value, reason));
}

// The variable of a policy; libgomp's own has none.
std::optional<std::pair<std::string, std::string>> variable_of(WaitPolicy policy) {
  switch (policy) {
    case WaitPolicy::kBrief: return std::pair("GOMP_SPINCOUNT", kBriefSpins);
    case WaitPolicy::kPassive: return std::pair("OMP_WAIT_POLICY", "passive");
    case WaitPolicy::kActive: break;
  }
  return std::nullopt;
}

void add_wait_policy(WaitPolicy policy, const Environment& user, StartEnvironment& start) {
  const auto variable = variable_of(policy);
  const std::string reason = wait_policy_of_user(user);
  if (reason.empty()) {
    if (variable) start.variables.insert(*variable);
    return;
  }
  const bool same = variable && value_of(user, variable->first) == variable->second;
  if (!same && policy != HostSettings().wait_policy) ignore("wait_policy", word_of(policy), reason, start);
}

void add_huge_pages(HeapAllocator allocator, const Environment& user, StartEnvironment& start) {
  Environment& variables = start.variables;
  if (const std::string reason = huge_pages_of_user(user); reason.empty())
    variables[kTensorPages] = "1";
  else if (user.at(kTensorPages) != "1")
    ignore("huge_pages", true, reason, start);
  if (allocator == HeapAllocator::kSystem) {
    const std::string_view tunables = value_of(user, kTunables);
    const std::string request = fmt::format("{}=1", kTunable);
    if (tunables.find(kTunable) != std::string_view::npos) {
      if (tunables.find(request) == std::string_view::npos)
        ignore("huge_pages of the heap", true, fmt::format("the environment has {}={}", kTunables, tunables), start);
      return;
    }
    variables[kTunables] = appended(tunables, request, ':');
    start.needs_start = true;
    return;
  }
  const AllocatorLibrary& library = library_of(allocator);
  if (library.variable == nullptr)
    return ignore("huge_pages of the heap", true, fmt::format("{} has no such setting", word_of(allocator)), start);
  if (const std::string_view value = value_of(user, library.variable); !value.empty()) {
    if (value != library.request)
      ignore("huge_pages of the heap", true, fmt::format("the environment has {}={}", library.variable, value), start);
    return;
  }
  variables[library.variable] = library.request;
  start.needs_start = true;
}

void add_allocator(HeapAllocator allocator, const HostFacts& facts, StartEnvironment& start) {
  if (allocator == HeapAllocator::kSystem) return;
  const std::string_view preloaded = value_of(facts.user, kPreload);
  if (const std::string reason = allocator_of_user(facts.user); !reason.empty()) {
    if (preloaded.find(word_of(allocator)) == std::string_view::npos)
      ignore("allocator", word_of(allocator), reason, start);
    return;
  }
  if (const std::string missing = missing_allocator(allocator, facts); !missing.empty())
    throw Error(ErrorKind::kMissing, "host.allocator: " + missing);
  const auto found = std::ranges::find(facts.allocators, allocator, &FoundAllocator::name);
  start.library = found->path;
  start.variables[kPreload] = appended(preloaded, found->path, ':');
  start.needs_start = true;
}

}  // namespace

void check_allocator(const HostSettings& settings) {
  if (const std::string missing = missing_allocator(settings.allocator, read_host_facts()); !missing.empty())
    throw Error(ErrorKind::kMissing, "host.allocator: " + missing);
}

const Environment& user_environment() {
  static const Environment variables = [] {
    Environment all;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string_view text(*entry);
      const std::size_t equals = text.find('=');
      if (equals != std::string_view::npos) all.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return all;
  }();
  return variables;
}

HostFacts read_host_facts() { return {user_environment(), find_allocators(library_folders())}; }

std::vector<FoundAllocator> find_allocators(const std::vector<std::string>& folders) {
  const auto path_of = [&](const AllocatorLibrary& library) -> std::string {
    for (const char* const file : library.files) {
      for (const std::string& folder : folders) {
        const fs::path path = fs::path(folder) / file;
        std::error_code failed;
        if (fs::is_regular_file(path, failed)) return path.string();
      }
    }
    return "";
  };
  std::vector<FoundAllocator> found;
  for (const AllocatorLibrary& library : kLibraries)
    if (std::string path = path_of(library); !path.empty()) found.push_back({library.name, std::move(path)});
  return found;
}

std::string missing_allocator(HeapAllocator allocator, const HostFacts& facts) {
  const auto& found = facts.allocators;
  if (allocator == HeapAllocator::kSystem || !allocator_of_user(facts.user).empty() ||
      std::ranges::find(found, allocator, &FoundAllocator::name) != found.end())
    return "";
  const AllocatorLibrary& library = library_of(allocator);
  return fmt::format("{}: found no {}; expected the library of the system. Run: apt-get install {}", word_of(allocator),
                     library.files[0], library.package);
}

StartEnvironment environment_for(const HostSettings& settings, const HostFacts& facts) {
  StartEnvironment start;
  add_wait_policy(settings.wait_policy, facts.user, start);
  if (settings.huge_pages) add_huge_pages(settings.allocator, facts.user, start);
  add_allocator(settings.allocator, facts, start);
  return start;
}

std::string wait_policy_of_user(const Environment& user) {
  for (const char* const name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"})
    if (user.contains(name)) return fmt::format("the environment has {}={}", name, user.at(name));
  return "";
}

std::string allocator_of_user(const Environment& user) {
  const std::string_view preloaded = value_of(user, kPreload);
  for (const std::string_view name : {"jemalloc", "tcmalloc", "mimalloc"})
    if (preloaded.find(name) != std::string_view::npos)
      return fmt::format("the environment has {}={}", kPreload, preloaded);
  return "";
}

std::string huge_pages_of_user(const Environment& user) {
  return user.contains(kTensorPages) ? fmt::format("the environment has {}={}", kTensorPages, user.at(kTensorPages))
                                     : "";
}

bool is_loaded(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  ::dlclose(library);
  return true;
}

void require_loaded(const HostSettings& settings, const HostFacts& facts) {
  for (const FoundAllocator& each : facts.allocators) {
    if (each.name != settings.allocator || is_loaded(each.path)) continue;
    const auto preloaded = facts.user.find("LD_PRELOAD");
    if (preloaded == facts.user.end() || preloaded->second.find(each.path) == std::string::npos) continue;
    throw Error(ErrorKind::kMissing,
                fmt::format("allocator {}: {} is not loaded; expected a library for this system. Install it again, or "
                            "use --allocator system",
                            word_of(settings.allocator), each.path));
  }
}

}  // namespace unstarve
