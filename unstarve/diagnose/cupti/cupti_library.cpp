#include "unstarve/diagnose/cupti/cupti_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "unstarve/core/library_function.h"

namespace unstarve {
namespace {

constexpr std::uint32_t kMostFunctions = 2000;  // of the runtime and of the driver each
// Parts of names. What allocates: as kAllocations of traces/activity_names.cpp.
constexpr const char* kCallsToRecord[] = {"Launch",          "Memcpy",         "Memset",    "Synchronize",
                                          "StreamWaitEvent", "Alloc",          "Malloc",    "Free",
                                          "HostRegister",    "HostUnregister", "MemCreate", "MemMap"};

// Folders in which CUPTI may be, next to the libraries of CUDA that this process has loaded.
std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return folders;
  char line[4400];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    const char* const path = std::strchr(line, '/');
    if (path == nullptr || std::strstr(path, "libcudart") == nullptr) continue;
    std::string folder(path);
    folder.resize(folder.rfind('/'));
    folders.push_back(folder);
    folders.push_back(folder + "/../../cuda_cupti/lib");   // wheels for CUDA 12: nvidia/cuda_runtime/lib
    folders.push_back(folder + "/../extras/CUPTI/lib64");  // /usr/local/cuda
    const std::size_t wheels = folder.rfind("/nvidia/");
    if (wheels != std::string::npos) folders.push_back(folder.substr(0, wheels) + "/nvidia/cu13/lib");
    break;
  }
  (void)std::fclose(maps);
  return folders;
}

void* open_library() {
  if (const char* const named = std::getenv("UNSTARVE_CUPTI_LIBRARY"); named != nullptr && *named != '\0')
    return dlopen(named, RTLD_NOW | RTLD_LOCAL);
  constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12"};
  for (const char* name : kNames)
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return library;
  for (const std::string& folder : library_folders()) {
    for (const char* name : kNames)
      if (void* const library = dlopen((folder + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  for (const char* name : kNames)
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

}  // namespace

std::string CuptiLibrary::load() {
  void* const library = open_library();
  if (library == nullptr)
    return "libcupti.so was not found: install the CUPTI of the program's CUDA version, as torch does, or the CUDA "
           "toolkit";
  CuptiFunctions cupti;
  look_up(library, "cuptiGetVersion", cupti.version);
  look_up(library, "cuptiGetTimestamp", cupti.timestamp);
  look_up(library, "cuptiGetResultString", cupti.text);
  look_up(library, "cuptiSubscribe", cupti.subscribe);
  look_up(library, "cuptiUnsubscribe", cupti.unsubscribe);
  look_up(library, "cuptiActivityRegisterCallbacks", cupti.register_buffers);
  look_up(library, "cuptiActivityEnable", cupti.enable);
  look_up(library, "cuptiActivityDisable", cupti.disable);
  look_up(library, "cuptiActivityFlushAll", cupti.flush);
  look_up(library, "cuptiActivityGetNextRecord", cupti.next);
  look_up(library, "cuptiGetCallbackName", cupti.function_name);
  look_up(library, "cuptiActivityEnableRuntimeApi", cupti.enable_runtime);
  look_up(library, "cuptiActivityEnableDriverApi", cupti.enable_driver);
  look_up(library, "cuptiActivityConfigureUnifiedMemoryCounter", cupti.set_unified);
  std::uint32_t version = 0;
  if (!cupti.complete() || cupti.version(&version) != kCuptiSuccess || version < kCuptiOldest || version > kCuptiNewest)
    return "version " + std::to_string(version) + " of CUPTI is not supported; expected the version of CUDA 12 or 13";
  use(cupti);
  return "";
}

void CuptiLibrary::use(const CuptiFunctions& functions) {
  functions_ = functions;
  for (std::vector<std::uint32_t>& calls : other_calls_) calls.clear();
  if (functions_.function_name == nullptr) return;
  for (const std::uint32_t domain : {kCuptiDriver, kCuptiRuntime}) {
    for (std::uint32_t function = 1; function < kMostFunctions; ++function) {
      const char* name = nullptr;
      if (functions_.function_name(domain, function, &name) != kCuptiSuccess || name == nullptr) continue;
      const bool chosen =
          std::ranges::any_of(kCallsToRecord, [&](const char* part) { return std::strstr(name, part) != nullptr; });
      if (!chosen) other_calls_[domain].push_back(function);
    }
  }
}

void CuptiLibrary::enable_calls(bool enable) const {
  for (const std::uint32_t domain : {kCuptiDriver, kCuptiRuntime}) {
    const auto change = domain == kCuptiDriver ? functions_.enable_driver : functions_.enable_runtime;
    if (change == nullptr || functions_.function_name == nullptr) continue;
    const std::uint32_t kind = domain == kCuptiDriver ? kCuptiDriverCall : kCuptiRuntimeCall;
    if (!enable) {
      (void)functions_.disable(kind);
      continue;
    }
    // Enabling the chosen calls alone succeeds, but CUPTI 13.0 then has no records of them (seen with driver 580).
    (void)functions_.enable(kind);
    for (const std::uint32_t function : other_calls_[domain]) (void)change(function, 0);
  }
}

}  // namespace unstarve
