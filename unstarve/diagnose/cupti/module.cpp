// libunstarve_cupti.so, which CUDA loads when a program initialises it, and NVTX at the first range, because watch sets
// CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH. From a thread of its own, it records kernels, copies, memory and
// calls of the runtime by CUPTI, and ranges (nvtx_ranges.h), in short windows, into the file that kernel_log.h
// describes.
//
//   CUDA starts      3 s             4 s                   13 s            14 s
//   |----------------|== recording ==|---------------------|== recording ==|--- ...
//
// Before CUDA starts, or without it, the same windows begin with NVTX and contain ranges only.
//
// It never ends or changes the program: no exception leaves it, and any failure means that it records no (more) kernels
// and writes the reason into its file. It records none if another profiler subscribes to CUPTI, and gives up for good
// when one appears, without a further call of CUPTI: torch.profiler then has the records to itself. Ranges continue.
// cuptiFinalize() is never called, as it is safe only while no thread is in CUDA.
//
// Memory:  1 MB per buffer that CUPTI holds; 8 are kept. Disk: kMostLogBytes.
// Threads: CUPTI calls the two buffer functions from any thread.
//
// It has run with a library that replaces CUPTI in tests, and with the real CUPTI of CUDA 13.0 without a GPU, never
// with a GPU. What recording costs there is unknown; traces/cupti_file.h measures it in every run.

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "unstarve/diagnose/cupti/cupti_api.h"
#include "unstarve/diagnose/cupti/kernel_log.h"
#include "unstarve/diagnose/cupti/nvtx_ranges.h"
#include "unstarve/diagnose/cupti/windows.h"

namespace unstarve {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20, kKeptBuffers = 8, kMostBuffers = 64;

CuptiRecorder* recorder = nullptr;  // never deleted: CUPTI may call the functions below at any time

// ---------------------------------------------------------------------------------------------- buffers and records

void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = nullptr;
  *size = *most_records = 0;
  if (getpid() != recorder->process) return;  // a copy by fork(), in which the mutex may be locked
  try {
    const std::lock_guard lock(recorder->mutex);
    if (!recorder->free_buffers.empty()) {
      *buffer = recorder->free_buffers.back();
      recorder->free_buffers.pop_back();
    } else if (recorder->buffers < kMostBuffers) {
      *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, kBufferBytes));
      recorder->buffers += *buffer != nullptr ? 1 : 0;
    }
    if (*buffer != nullptr) *size = kBufferBytes;
  } catch (...) {
  }
}

// The caller holds the mutex.
std::uint32_t number_of(const char* name) {
  const std::string_view text(name != nullptr ? name : "unknown");
  const auto known = recorder->names.find(text);
  if (known != recorder->names.end()) return known->second;
  char* const copy = strdup(std::string(text).c_str());  // the key; libraries with kernels may be unloaded
  if (copy == nullptr) return 0;
  const std::uint32_t number = ++recorder->names_used;
  recorder->names.emplace(copy, number);
  recorder->log.add({.kind = KernelLogKind::kName, .name = number}, copy);
  return number;
}

template <class Record>
Record read_as(const CuptiRecord* record) {
  Record copy;
  std::memcpy(&copy, record, sizeof copy);
  return copy;
}

template <class Record>
KernelLogEntry on_device(KernelLogKind kind, const Record& record) {
  KernelLogEntry entry;
  entry.kind = kind;
  entry.device = static_cast<std::uint8_t>(record.device);
  entry.begin_ns = static_cast<std::int64_t>(record.start);
  entry.end_ns = static_cast<std::int64_t>(record.end);
  entry.lane = std::uint64_t{record.context} << 32 | record.stream;
  return entry;
}

// The caller holds the mutex.
void write_record(const CuptiRecord* record) {
  KernelLogEntry entry;
  switch (record->kind) {
    case kCuptiKernel:
    case kCuptiConcurrentKernel: {
      const auto kernel = read_as<CuptiKernelRecord>(record);
      entry = on_device(KernelLogKind::kKernel, kernel);
      entry.name = number_of(kernel.name);
      break;
    }
    case kCuptiMemcpy: {
      const auto copy = read_as<CuptiMemcpyRecord>(record);
      entry = on_device(KernelLogKind::kCopy, copy);
      constexpr std::uint8_t kToHost = 2, kArrayToHost = 4;
      entry.detail = copy.copy_kind;
      entry.memory = copy.copy_kind == kToHost || copy.copy_kind == kArrayToHost ? copy.destination : copy.source;
      entry.value = copy.bytes;
      break;
    }
    case kCuptiMemset: entry = on_device(KernelLogKind::kMemset, read_as<CuptiMemsetRecord>(record)); break;
    case kCuptiSynchronisation: {
      const auto wait = read_as<CuptiSynchronisationRecord>(record);
      entry.kind = KernelLogKind::kSynchronisation;
      entry.detail = static_cast<std::uint8_t>(wait.type);
      entry.begin_ns = static_cast<std::int64_t>(wait.start);
      entry.end_ns = static_cast<std::int64_t>(wait.end);
      break;
    }
    case kCuptiOverhead: {
      const auto overhead = read_as<CuptiOverheadRecord>(record);
      entry.kind = KernelLogKind::kOverhead;
      entry.detail = static_cast<std::uint8_t>(overhead.overhead >> 16);
      entry.begin_ns = static_cast<std::int64_t>(overhead.start);
      entry.end_ns = static_cast<std::int64_t>(overhead.end);
      break;
    }
    case kCuptiMemory: {
      const auto memory = read_as<CuptiMemoryRecord>(record);
      entry.kind = KernelLogKind::kMemory;
      entry.detail = static_cast<std::uint8_t>(memory.operation);
      entry.memory = static_cast<std::uint8_t>(memory.memory);
      entry.device = static_cast<std::uint8_t>(memory.device);
      entry.begin_ns = entry.end_ns = static_cast<std::int64_t>(memory.time);
      entry.value = memory.bytes;
      entry.lane = memory.address;
      break;
    }
    case kCuptiDriverCall:
    case kCuptiRuntimeCall: {
      const auto call = read_as<CuptiCallRecord>(record);
      const char* name = nullptr;
      if (recorder->cupti.function_name == nullptr) return;
      (void)recorder->cupti.function_name(call.kind == kCuptiDriverCall ? kCuptiDriver : kCuptiRuntime, call.function,
                                          &name);
      entry.kind = KernelLogKind::kCall;
      entry.name = number_of(name);
      entry.begin_ns = static_cast<std::int64_t>(call.start);
      entry.end_ns = static_cast<std::int64_t>(call.end);
      entry.lane = call.thread;
      break;
    }
    default: return;
  }
  if (entry.begin_ns > 0 && entry.end_ns >= entry.begin_ns) recorder->log.add(entry);  // 0: times were not collected
}

void take_buffer(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  if (buffer == nullptr || getpid() != recorder->process) return;
  try {
    const std::lock_guard lock(recorder->mutex);
    CuptiRecord* record = nullptr;
    while (valid > 0 && !recorder->given_up && recorder->cupti.next(buffer, valid, &record) == kCuptiSuccess &&
           record != nullptr)
      write_record(record);
    recorder->log.flush();
    if (recorder->free_buffers.size() < kKeptBuffers) {
      recorder->free_buffers.push_back(buffer);
    } else {
      std::free(buffer);
      --recorder->buffers;
    }
  } catch (...) {
  }
}

// ---------------------------------------------------------------------------------------------------------- library

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

template <class Function>
void look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

// False: the reason is written.
bool load() {
  void* const library = open_library();
  if (library == nullptr) {
    write_message(
        *recorder,
        "libcupti.so was not found: install the CUPTI of the program's CUDA version, as torch does, or the CUDA "
        "toolkit");
    return false;
  }
  CuptiFunctions& cupti = recorder->cupti;
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
  std::uint32_t version = 0;
  if (!cupti.complete() || cupti.version(&version) != kCuptiSuccess || version < kCuptiOldest ||
      version > kCuptiNewest) {
    write_message(*recorder,
                  "version " + std::to_string(version) + " of CUPTI is not supported; expected that of CUDA 12 or 13");
    return false;
  }
  choose_functions(*recorder);
  return true;
}

// While the program ends, CUPTI is not used. It waits for at most two seconds, and may be called twice.
void stop_at_exit() {
  if (getpid() != recorder->process) return;  // a copy by fork() has no such thread
  std::unique_lock lock(recorder->stop_mutex);
  recorder->stop = true;
  recorder->changed.notify_all();
  (void)recorder->changed.wait_for(lock, std::chrono::seconds(2), [] { return recorder->ended; });
}

// False: the program ends.
bool run_until_cuda() {
  {
    const std::lock_guard lock(recorder->stop_mutex);
    recorder->cuda_known = recorder->cuda;
  }
  bool interrupted = wait_for_change(*recorder, recorder->times.first);
  recorder->kernels = !interrupted && recorder->cuda_known && load();
  // Runs before what libcupti has registered while it was loaded.
  if (recorder->kernels) (void)std::atexit(stop_at_exit);
  while (!interrupted && record_window(*recorder)) interrupted = wait_for_change(*recorder, recorder->times.off);
  const std::lock_guard lock(recorder->stop_mutex);
  return interrupted && !recorder->stop;
}

void run() {
  try {
    while (run_until_cuda()) {
    }
    const std::lock_guard lock(recorder->mutex);
    recorder->log.flush();
  } catch (...) {
  }
  const std::lock_guard lock(recorder->stop_mutex);
  recorder->ended = true;
  recorder->changed.notify_all();
}

std::atomic_flag starting = ATOMIC_FLAG_INIT;

// In the child of fork(), which has neither the thread nor whoever held the flag.
void after_fork() {
  close_ranges();
  starting.clear();
}

// False: nothing is recorded.
bool start(const char* folder) {
  if (recorder == nullptr) (void)pthread_atfork(nullptr, nullptr, after_fork);
  recorder = new (std::nothrow) CuptiRecorder;  // that of the parent, in a child, may have locked mutexes
  if (recorder == nullptr || !recorder->log.open(folder)) return false;
  recorder->give_buffer = give_buffer;
  recorder->take_buffer = take_buffer;
  forget_ranges();
  if (const char* const times = std::getenv("UNSTARVE_CUPTI_TIMES")) {
    (void)std::sscanf(times, "%lf,%lf,%lf", &recorder->times.first, &recorder->times.on, &recorder->times.off);
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are for its own threads
  bool started = true;
  try {
    std::thread(run).detach();
    (void)std::atexit(stop_at_exit);
  } catch (...) {
    write_message(*recorder, "no thread could be started");
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

// At the first call in a process. False: nothing is recorded. `starts_cuda`: CUDA calls.
bool start_once(bool starts_cuda) {
  const char* const folder = std::getenv(kCuptiVariable);
  if (folder == nullptr) return false;
  while (starting.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  static pid_t process = 0;
  static bool started = false;
  try {
    if (std::exchange(process, getpid()) != getpid()) started = start(folder);
    if (started && starts_cuda) {
      const std::lock_guard lock(recorder->stop_mutex);
      recorder->cuda = true;
      recorder->changed.notify_all();
    }
  } catch (...) {
    started = false;
  }
  starting.clear(std::memory_order_release);
  return started;
}

}  // namespace
}  // namespace unstarve

// Called by CUDA. 1: success.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  (void)unstarve::start_once(true);
  return 1;
}

// Called by every library with NVTX at its first range. 0: ranges are not recorded.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(unstarve::NvtxExportTable tables) {
  return unstarve::start_once(false) && unstarve::attach_nvtx(tables) ? 1 : 0;
}
