// A library that replaces CUPTI in tests without a GPU; $UNSTARVE_CUPTI_LIBRARY contains its path. It has CUPTI's
// behaviour as far as module.cpp uses it: records of enabled kinds go to buffers that the client provides, which are
// returned when they are full or flushed. $CUPTI_STAND_IN_ERROR: a function and the error that it returns,
// "cuptiActivityEnable=7". It also has those functions of CUDA's driver by which module.cpp describes the device.
#include "cupti_stand_in.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <set>
#include <string>

#include "unstarve/diagnose/cupti/cupti_api.h"

namespace {

using namespace unstarve;

std::mutex mutex;
std::set<std::uint32_t> kinds, counters;  // counters: of unified memory
// Of the runtime, while its kind is recorded. CUPTI 13.0 has no records of single functions without their kind.
std::set<std::uint32_t> disabled_functions;
void (*request)(std::uint8_t**, std::size_t*, std::size_t*) = nullptr;
void (*complete)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t) = nullptr;
std::uint8_t* buffer = nullptr;
std::size_t size = 0, used = 0;
std::atomic<bool> subscribed = false;

int error_of(const char* function) {
  const char* const text = std::getenv("CUPTI_STAND_IN_ERROR");
  const std::size_t length = std::strlen(function);
  if (text == nullptr || std::strncmp(text, function, length) != 0 || text[length] != '=') return 0;
  return std::atoi(text + length + 1);
}

void give_back() {
  if (buffer == nullptr) return;
  std::uint8_t* const full = buffer;
  buffer = nullptr;
  complete(nullptr, 0, full, size, used);
}

template <class Record>
void add(const Record& record, const std::set<std::uint32_t>& enabled, std::uint32_t number) {
  const std::lock_guard lock(mutex);
  if (!enabled.contains(number) || request == nullptr) return;
  if (buffer != nullptr && used + sizeof record > size) give_back();
  if (buffer == nullptr) {
    std::size_t most = 0;
    request(&buffer, &size, &most);
    used = 0;
    if (buffer == nullptr) return;
  }
  std::memcpy(buffer + used, &record, sizeof record);
  used += sizeof record;
}

std::size_t size_of(std::uint32_t kind) {
  switch (kind) {
    case kCuptiConcurrentKernel: return sizeof(CuptiKernelRecord);
    case kCuptiMemcpy: return sizeof(CuptiMemcpyRecord);
    case kCuptiRuntimeCall: return sizeof(CuptiCallRecord);
    case kCuptiMemory: return sizeof(CuptiMemoryRecord);
    case kCuptiUnifiedMemory: return sizeof(CuptiUnifiedMemoryRecord);
    case kCuptiOverhead: return sizeof(CuptiOverheadRecord);
    default: std::abort();
  }
}

void add_memory(std::uint8_t kind, std::uint32_t operation, std::uint64_t address, std::uint64_t bytes,
                std::uint64_t ns) {
  CuptiMemoryRecord record{};
  record.kind = kCuptiMemory;
  record.operation = operation;
  record.memory = kind;
  record.address = address;
  record.bytes = bytes;
  record.time = ns;
  add(record, kinds, kCuptiMemory);
}

}  // namespace

extern "C" {

int stand_in_kinds = 0;

void stand_in_kernel(const char* name, std::uint32_t stream, std::uint64_t begin_ns, std::uint64_t end_ns) {
  CuptiKernelRecord record{};
  record.kind = kCuptiConcurrentKernel;
  record.start = begin_ns;
  record.end = end_ns;
  record.stream = stream;
  record.name = name;
  add(record, kinds, kCuptiConcurrentKernel);
}

void stand_in_copy(std::uint8_t memory, std::uint64_t bytes, std::uint64_t begin_ns, std::uint64_t end_ns) {
  CuptiMemcpyRecord record{};
  record.kind = kCuptiMemcpy;
  record.copy_kind = 1;
  record.source = memory;
  record.destination = 3;
  record.bytes = bytes;
  record.start = begin_ns;
  record.end = end_ns;
  add(record, kinds, kCuptiMemcpy);
}

void stand_in_copy_back(std::uint64_t bytes, std::uint64_t begin_ns, std::uint64_t end_ns) {
  CuptiMemcpyRecord record{};
  record.kind = kCuptiMemcpy;
  record.copy_kind = 2;
  record.source = 3;
  record.destination = 1;
  record.bytes = bytes;
  record.start = begin_ns;
  record.end = end_ns;
  add(record, kinds, kCuptiMemcpy);
}

void stand_in_call(std::uint32_t function, std::uint64_t begin_ns, std::uint64_t end_ns) {
  CuptiCallRecord record{};
  record.kind = kCuptiRuntimeCall;
  record.function = function;
  record.start = begin_ns;
  record.end = end_ns;
  record.thread = 77;
  {
    const std::lock_guard lock(mutex);
    if (disabled_functions.contains(function)) return;
  }
  add(record, kinds, kCuptiRuntimeCall);
}

void stand_in_overhead(std::uint64_t begin_ns, std::uint64_t end_ns) {
  CuptiOverheadRecord record{};
  record.kind = kCuptiOverhead;
  record.overhead = 2 << 16;
  record.start = begin_ns;
  record.end = end_ns;
  add(record, kinds, kCuptiOverhead);
}

void stand_in_memory(std::uint32_t operation, std::uint64_t address, std::uint64_t bytes, std::uint64_t ns) {
  add_memory(3, operation, address, bytes, ns);
}

void stand_in_pinned(std::uint32_t operation, std::uint64_t address, std::uint64_t bytes, std::uint64_t ns) {
  add_memory(2, operation, address, bytes, ns);
}

void stand_in_unified(std::uint32_t counter, std::uint64_t value, std::uint64_t begin_ns, std::uint64_t end_ns) {
  CuptiUnifiedMemoryRecord record{};
  record.kind = kCuptiUnifiedMemory;
  record.counter = counter;
  record.value = value;
  record.start = begin_ns;
  record.end = end_ns;
  {
    const std::lock_guard lock(mutex);
    if (!kinds.contains(kCuptiUnifiedMemory)) return;
  }
  add(record, counters, counter);
}

void stand_in_subscribe() { subscribed = true; }

int cuDeviceGetCount(int* devices) {
  *devices = 1;
  return 0;
}
int cuDeviceGet(int* device, int) {
  *device = 0;
  return 0;
}
int cuDeviceGetName(char* text, int size, int) {
  std::snprintf(text, static_cast<std::size_t>(size), "NVIDIA H100 80GB HBM3");
  return 0;
}
int cuDeviceGetPCIBusId(char* text, int size, int) {
  std::snprintf(text, static_cast<std::size_t>(size), "0000:4A:00.0");  // that of nvml_stand_in.cpp
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? 9 : 0;  // the compute capability is 9.0
  return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = std::size_t{80} << 30;
  return 0;
}

int cuptiGetVersion(std::uint32_t* version) {
  *version = 130001;
  return error_of("cuptiGetVersion");
}
int cuptiGetTimestamp(std::uint64_t* now) {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  *now = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
  return 0;
}
int cuptiGetResultString(int status, const char** text) {
  *text = status == 7 ? "CUPTI_ERROR_INVALID_KIND" : "CUPTI_ERROR_UNKNOWN";
  return 0;
}
int cuptiSubscribe(void** subscriber, void*, void*) {
  *subscriber = &subscribed;
  return subscribed ? kCuptiMultipleSubscribers : error_of("cuptiSubscribe");
}
int cuptiUnsubscribe(void*) { return 0; }
int cuptiActivityRegisterCallbacks(decltype(request) requested, decltype(complete) completed) {
  const std::lock_guard lock(mutex);
  request = requested;
  complete = completed;
  return 0;
}
int cuptiActivityEnable(std::uint32_t kind) {
  const std::lock_guard lock(mutex);
  if (kind == kCuptiUnifiedMemory && counters.empty()) return 1;  // they have to be configured first
  kinds.insert(kind);
  if (kind == kCuptiRuntimeCall) disabled_functions.clear();
  stand_in_kinds = static_cast<int>(kinds.size());
  return error_of("cuptiActivityEnable");
}
int cuptiActivityDisable(std::uint32_t kind) {
  const std::lock_guard lock(mutex);
  kinds.erase(kind);
  stand_in_kinds = static_cast<int>(kinds.size());
  return 0;
}
int cuptiActivityConfigureUnifiedMemoryCounter(const CuptiUnifiedMemorySetting* settings, std::uint32_t count) {
  const std::lock_guard lock(mutex);
  const int error = error_of("cuptiActivityConfigureUnifiedMemoryCounter");
  for (std::uint32_t i = 0; i < count && error == 0; ++i)
    if (settings[i].enable != 0) counters.insert(settings[i].counter);
  return error;
}
int cuptiActivityEnableRuntimeApi(std::uint32_t function, std::uint8_t enable) {
  const std::lock_guard lock(mutex);
  if (enable != 0)
    disabled_functions.erase(function);
  else
    disabled_functions.insert(function);
  return 0;
}
int cuptiActivityFlushAll(std::uint32_t) {
  const std::lock_guard lock(mutex);
  give_back();
  return 0;
}
int cuptiActivityGetNextRecord(std::uint8_t* bytes, std::size_t valid, CuptiRecord** record) {
  std::uint8_t* next = bytes;
  if (*record != nullptr) {
    next = reinterpret_cast<std::uint8_t*>(*record);
    next += size_of((*record)->kind);
  }
  if (next >= bytes + valid) return kCuptiMaxLimit;
  *record = reinterpret_cast<CuptiRecord*>(next);
  return 0;
}
int cuptiGetCallbackName(std::uint32_t domain, std::uint32_t function, const char** name) {
  *name = nullptr;
  if (domain != kCuptiRuntime) return 1;
  switch (function) {
    case kStandInLaunch: *name = "cudaLaunchKernel_v7000"; break;
    case kStandInSynchronize: *name = "cudaDeviceSynchronize_v3020"; break;
    case kStandInCopy: *name = "cudaMemcpyAsync_v3020"; break;
    case kStandInGetter: *name = "cudaGetDevice_v3020"; break;
    default: return 1;
  }
  return 0;
}

}  // extern "C"
