#include "unstarve/core/module_loader.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>

#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

struct PackagePath {
  std::mutex mutex;
  std::vector<fs::path> folders;
  fs::path python = "python3";

  PackagePath() {
#ifdef UNSTARVE_SOURCE_PYTHON
    std::error_code failed;
    if (fs::exists(UNSTARVE_SOURCE_PYTHON, failed)) python = UNSTARVE_SOURCE_PYTHON;
#endif
    if (const char* const interpreter = std::getenv("UNSTARVE_PYTHON")) python = interpreter;
    const char* const text = std::getenv("UNSTARVE_PACKAGES");
    std::string_view rest = text == nullptr ? "" : text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      if (end > 0) folders.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
};

PackagePath& package_path() {
  static PackagePath path;
  return path;
}

// An installed Python package; `folder` is empty if there is none.
struct Package {
  fs::path folder;      // that contains the package and its metadata
  std::string version;  // "2.13.0+cpu"
};

// The version of `package` by the name of its metadata, NAME-VERSION.dist-info; "" if it is not in `folder`.
std::string version_in(const fs::path& folder, std::string_view package) {
  constexpr std::string_view kMetadata = ".dist-info";
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (name.size() <= package.size() + 1 + kMetadata.size()) continue;
    if (!name.starts_with(package) || name[package.size()] != '-' || !name.ends_with(kMetadata)) continue;
    return name.substr(package.size() + 1, name.size() - package.size() - 1 - kMetadata.size());
  }
  return "";
}

Package find_package(std::string_view package) {
  PackagePath& path = package_path();
  const std::lock_guard lock(path.mutex);
  for (const fs::path& folder : path.folders) {
    if (std::string version = version_in(folder, package); !version.empty()) return {folder, std::move(version)};
  }
  return {};
}

// Whether `version` begins with the parts of `supported`: 2.13.0 with 2.13, but not 2.130.
bool is_supported(std::string_view version, std::string_view supported) {
  if (!version.starts_with(supported)) return false;
  version.remove_prefix(supported.size());
  return version.empty() || version.front() < '0' || version.front() > '9';
}

[[noreturn]] void fail(const Module& module, const std::string& operation, const std::string& found) {
  if (*module.package == '\0')
    throw missing_error("{}: {}; expected the libraries of the system. Run: apt-get install {}", operation, found,
                        module.extra);
  throw missing_error("{}: {}; expected {} {}.*. Run: pip install 'unstarve[{}]'   (in a source tree: make setup)",
                      operation, found, module.package, module.version, module.extra);
}

[[noreturn]] void fail_file(const Module& module, const std::string& operation, const std::string& found) {
  throw missing_error("{}: {}; expected the {} of this build in the run path. Build or install both together",
                      operation, found, module.file);
}

// RTLD_LOCAL hides all symbols from other libraries of the process.
void* open_library(const fs::path& file) { return ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); }

// The path of a file in the run path of the program or the extension that contains this function; the name if it is not
// there. dlopen() would search the run path of its caller, which is another library if one intercepts it, as
// AddressSanitizer does.
std::string in_run_path(const std::string& file) {
  Dl_info info{};
  link_map* self = nullptr;
  const auto* const here = reinterpret_cast<const void*>(&in_run_path);
  if (::dladdr1(here, &info, reinterpret_cast<void**>(&self), RTLD_DL_LINKMAP) == 0) return file;
  Dl_serinfo size{};
  if (::dlinfo(self, RTLD_DI_SERINFOSIZE, &size) != 0) return file;
  const std::unique_ptr<void, decltype(&std::free)> memory(std::calloc(1, size.dls_size), &std::free);
  auto* const paths = static_cast<Dl_serinfo*>(memory.get());
  if (paths == nullptr || ::dlinfo(self, RTLD_DI_SERINFOSIZE, paths) != 0) return file;
  if (::dlinfo(self, RTLD_DI_SERINFO, paths) != 0) return file;
  for (unsigned int i = 0; i < paths->dls_cnt; ++i) {
    const fs::path path = fs::path(paths->dls_serpath[i].dls_name) / file;
    std::error_code failed;
    if (fs::exists(path, failed)) return path.string();
  }
  return file;
}

void load_libraries(const Module& module, const Package& package, const std::string& operation) {
  const std::string found = std::string(module.package) + " " + package.version + " in " + package.folder.string();
  if (!is_supported(package.version, module.version)) fail(module, operation, "found " + found);
  for (const char* library : module.libraries) {
    if (open_library(package.folder / library) == nullptr)
      fail(module, operation, "the libraries of " + found + " cannot be loaded: " + ::dlerror());
  }
}

}  // namespace

void set_package_path(std::vector<fs::path> folders) {
  PackagePath& path = package_path();
  const std::lock_guard lock(path.mutex);
  path.folders = std::move(folders);
}

void set_python_interpreter(fs::path interpreter) {
  PackagePath& path = package_path();
  const std::lock_guard lock(path.mutex);
  path.python = std::move(interpreter);
}

fs::path python_interpreter() {
  PackagePath& path = package_path();
  const std::lock_guard lock(path.mutex);
  return path.python;
}

fs::path find_module(const std::string& file) {
  const std::string path = in_run_path(file);
  return path == file ? fs::path() : fs::path(path);
}

const void* load_module(const Module& module, const std::string& operation) {
  const Package package = *module.package == '\0' ? Package() : find_package(module.package);
  if (!package.folder.empty()) load_libraries(module, package, operation);
  const std::string file = in_run_path(module.file);
  void* const library = open_library(file);
  if (library == nullptr) {
    const std::string reason = ::dlerror();
    if (reason.starts_with(module.file)) fail_file(module, operation, reason);
    fail(module, operation,
         (package.folder.empty() && *module.package != '\0' && !reason.starts_with(file)
              ? std::string("package ") + module.package + " not found: "
              : std::string(module.file) + " cannot be loaded: ") +
             reason);
  }
  const auto entry = reinterpret_cast<const void* (*)()>(::dlsym(library, module.entry));
  if (entry == nullptr)
    fail_file(module, operation, std::string(module.file) + " is another library: it has no " + module.entry);
  const void* const table = entry();
  const std::string_view stamp = *static_cast<const char* const*>(table);
  if (stamp != module.stamp) {
    fail_file(module, operation,
              std::string(module.file) + " belongs to another build (" + std::string(stamp) + ") than this program (" +
                  module.stamp + ")");
  }
  return table;
}

}  // namespace unstarve
