#include "unstarve/diagnose/cupti/cupti_api.h"

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "unstarve/diagnose/cupti/kernel_log.h"

#ifdef UNSTARVE_CUPTI_LIBRARY  // where the CUDA toolkit is installed

#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_version.h>

namespace unstarve {
namespace {

static_assert(CUPTI_API_VERSION >= kCuptiOldest && CUPTI_API_VERSION <= kCuptiNewest);
static_assert(kCuptiSuccess == CUPTI_SUCCESS && kCuptiMaxLimit == CUPTI_ERROR_MAX_LIMIT_REACHED &&
              kCuptiMultipleSubscribers == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
static_assert(kCuptiDriver == CUPTI_CB_DOMAIN_DRIVER_API && kCuptiRuntime == CUPTI_CB_DOMAIN_RUNTIME_API);
static_assert(kCuptiFlushForced == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
static_assert(kCuptiThread == CUPTI_ACTIVITY_OBJECT_THREAD);
static_assert(offsetof(CUpti_ActivityObjectKindId, pt.threadId) == sizeof(std::uint32_t));
static_assert(kCuptiMemcpy == CUPTI_ACTIVITY_KIND_MEMCPY && kCuptiMemset == CUPTI_ACTIVITY_KIND_MEMSET &&
              kCuptiKernel == CUPTI_ACTIVITY_KIND_KERNEL && kCuptiDriverCall == CUPTI_ACTIVITY_KIND_DRIVER &&
              kCuptiRuntimeCall == CUPTI_ACTIVITY_KIND_RUNTIME &&
              kCuptiConcurrentKernel == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
              kCuptiOverhead == CUPTI_ACTIVITY_KIND_OVERHEAD &&
              kCuptiSynchronisation == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION &&
              kCuptiUnifiedMemory == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER &&
              kCuptiMemory == CUPTI_ACTIVITY_KIND_MEMORY2);
static_assert(kCuptiUnifiedToDevice == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD &&
              kCuptiUnifiedToHost == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH &&
              kCuptiUnifiedCpuFault == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT &&
              kCuptiUnifiedGpuFault == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT &&
              kCuptiUnifiedThrashing == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING &&
              kCuptiUnifiedThrottling == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING &&
              kCuptiUnifiedOnDevice == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD);

#define SAME(own, own_member, real, real_member)                            \
  static_assert(offsetof(own, own_member) == offsetof(real, real_member) && \
                sizeof(own::own_member) == sizeof(real::real_member) && sizeof(own) <= sizeof(real))
SAME(CuptiKernelRecord, kind, CUpti_ActivityKernel10, kind);
SAME(CuptiKernelRecord, start, CUpti_ActivityKernel10, start);
SAME(CuptiKernelRecord, end, CUpti_ActivityKernel10, end);
SAME(CuptiKernelRecord, completed, CUpti_ActivityKernel10, completed);
SAME(CuptiKernelRecord, device, CUpti_ActivityKernel10, deviceId);
SAME(CuptiKernelRecord, context, CUpti_ActivityKernel10, contextId);
SAME(CuptiKernelRecord, stream, CUpti_ActivityKernel10, streamId);
SAME(CuptiKernelRecord, grid, CUpti_ActivityKernel10, gridId);
SAME(CuptiKernelRecord, name, CUpti_ActivityKernel10, name);
SAME(CuptiMemcpyRecord, copy_kind, CUpti_ActivityMemcpy6, copyKind);
SAME(CuptiMemcpyRecord, source, CUpti_ActivityMemcpy6, srcKind);
SAME(CuptiMemcpyRecord, destination, CUpti_ActivityMemcpy6, dstKind);
SAME(CuptiMemcpyRecord, flags, CUpti_ActivityMemcpy6, flags);
SAME(CuptiMemcpyRecord, bytes, CUpti_ActivityMemcpy6, bytes);
SAME(CuptiMemcpyRecord, start, CUpti_ActivityMemcpy6, start);
SAME(CuptiMemcpyRecord, end, CUpti_ActivityMemcpy6, end);
SAME(CuptiMemcpyRecord, device, CUpti_ActivityMemcpy6, deviceId);
SAME(CuptiMemcpyRecord, context, CUpti_ActivityMemcpy6, contextId);
SAME(CuptiMemcpyRecord, stream, CUpti_ActivityMemcpy6, streamId);
SAME(CuptiMemsetRecord, bytes, CUpti_ActivityMemset4, bytes);
SAME(CuptiMemsetRecord, start, CUpti_ActivityMemset4, start);
SAME(CuptiMemsetRecord, end, CUpti_ActivityMemset4, end);
SAME(CuptiMemsetRecord, device, CUpti_ActivityMemset4, deviceId);
SAME(CuptiMemsetRecord, context, CUpti_ActivityMemset4, contextId);
SAME(CuptiMemsetRecord, stream, CUpti_ActivityMemset4, streamId);
SAME(CuptiSynchronisationRecord, type, CUpti_ActivitySynchronization2, type);
SAME(CuptiSynchronisationRecord, start, CUpti_ActivitySynchronization2, start);
SAME(CuptiSynchronisationRecord, end, CUpti_ActivitySynchronization2, end);
SAME(CuptiOverheadRecord, overhead, CUpti_ActivityOverhead3, overheadKind);
SAME(CuptiOverheadRecord, object, CUpti_ActivityOverhead3, objectKind);
SAME(CuptiOverheadRecord, id, CUpti_ActivityOverhead3, objectId);
SAME(CuptiOverheadRecord, start, CUpti_ActivityOverhead3, start);
SAME(CuptiOverheadRecord, end, CUpti_ActivityOverhead3, end);
SAME(CuptiMemoryRecord, operation, CUpti_ActivityMemory4, memoryOperationType);
SAME(CuptiMemoryRecord, memory, CUpti_ActivityMemory4, memoryKind);
SAME(CuptiMemoryRecord, address, CUpti_ActivityMemory4, address);
SAME(CuptiMemoryRecord, bytes, CUpti_ActivityMemory4, bytes);
SAME(CuptiMemoryRecord, time, CUpti_ActivityMemory4, timestamp);
SAME(CuptiMemoryRecord, device, CUpti_ActivityMemory4, deviceId);
SAME(CuptiUnifiedMemoryRecord, counter, CUpti_ActivityUnifiedMemoryCounter3, counterKind);
SAME(CuptiUnifiedMemoryRecord, value, CUpti_ActivityUnifiedMemoryCounter3, value);
SAME(CuptiUnifiedMemoryRecord, start, CUpti_ActivityUnifiedMemoryCounter3, start);
SAME(CuptiUnifiedMemoryRecord, end, CUpti_ActivityUnifiedMemoryCounter3, end);
SAME(CuptiUnifiedMemoryRecord, address, CUpti_ActivityUnifiedMemoryCounter3, address);
SAME(CuptiUnifiedMemoryRecord, source, CUpti_ActivityUnifiedMemoryCounter3, srcId);
SAME(CuptiUnifiedMemoryRecord, destination, CUpti_ActivityUnifiedMemoryCounter3, dstId);
SAME(CuptiUnifiedMemorySetting, counter, CUpti_ActivityUnifiedMemoryCounterConfig, kind);
SAME(CuptiUnifiedMemorySetting, enable, CUpti_ActivityUnifiedMemoryCounterConfig, enable);
static_assert(sizeof(CuptiUnifiedMemorySetting) == sizeof(CUpti_ActivityUnifiedMemoryCounterConfig));
SAME(CuptiCallRecord, function, CUpti_ActivityAPI, cbid);
SAME(CuptiCallRecord, start, CUpti_ActivityAPI, start);
SAME(CuptiCallRecord, end, CUpti_ActivityAPI, end);
SAME(CuptiCallRecord, thread, CUpti_ActivityAPI, threadId);
SAME(CuptiCallRecord, correlation, CUpti_ActivityAPI, correlationId);
#undef SAME

// The values that kernel_log.h passes on.
static_assert(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD == 1 && CUPTI_ACTIVITY_MEMCPY_KIND_DTOH == 2 &&
              CUPTI_ACTIVITY_MEMCPY_KIND_HTOA == 3 && CUPTI_ACTIVITY_MEMCPY_KIND_ATOH == 4 &&
              CUPTI_ACTIVITY_MEMCPY_KIND_DTOD == 8 && CUPTI_ACTIVITY_MEMCPY_KIND_PTOP == 10);
static_assert(CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE == 1 && CUPTI_ACTIVITY_MEMORY_KIND_PINNED == 2 &&
              CUPTI_ACTIVITY_MEMORY_KIND_DEVICE == 3 && CUPTI_ACTIVITY_MEMORY_KIND_MANAGED == 5);
static_assert(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION == kMemoryAllocated &&
              CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE == kMemoryReleased);
static_assert(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT == 2);
static_assert(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH == 1 << 16 &&
              CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION == 2 << 16 &&
              CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE == 3 << 16 &&
              CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST == 7 << 16 &&
              CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT == 8 << 16);

template <class Record>
void append(std::vector<std::uint8_t>& buffer, const Record& record) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&record);
  buffer.insert(buffer.end(), bytes, bytes + sizeof record);
}

TEST_CASE("the real CUPTI walks over records as the recorder reads them") {
  void* const library = dlopen(UNSTARVE_CUPTI_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    WARN("skipped: " UNSTARVE_CUPTI_LIBRARY " cannot be loaded");  // this machine did not compile the test
    return;
  }
  CuptiFunctions cupti;
  cupti.next = reinterpret_cast<decltype(cupti.next)>(dlsym(library, "cuptiActivityGetNextRecord"));
  cupti.function_name = reinterpret_cast<decltype(cupti.function_name)>(dlsym(library, "cuptiGetCallbackName"));
  REQUIRE(cupti.next != nullptr);
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.start = 1000;
  kernel.end = 3000;
  kernel.deviceId = 1;
  kernel.streamId = 7;
  kernel.name = "gemm";
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.bytes = 4096;
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.cbid = 211;
  call.threadId = 77;
  std::vector<std::uint8_t> buffer;
  append(buffer, kernel);
  append(buffer, copy);
  append(buffer, call);
  CUpti_ActivityMemory4 memory{};
  memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  memory.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  memory.address = 0x7f00;
  memory.bytes = 1 << 21;
  memory.timestamp = 5000;
  memory.deviceId = 2;
  append(buffer, memory);
  CUpti_ActivityUnifiedMemoryCounter3 unified{};
  unified.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
  unified.counterKind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT;
  unified.value = 12;
  unified.start = 6000;
  unified.end = 8000;
  unified.srcId = 1;
  append(buffer, unified);
  CuptiRecord* record = nullptr;
  REQUIRE(cupti.next(buffer.data(), buffer.size(), &record) == kCuptiSuccess);
  CuptiKernelRecord read{};
  std::memcpy(&read, record, sizeof read);
  CHECK(read.kind == kCuptiConcurrentKernel);
  CHECK(read.end - read.start == 2000);
  CHECK(read.device == 1);
  CHECK(read.stream == 7);
  CHECK(std::strcmp(read.name, "gemm") == 0);
  REQUIRE(cupti.next(buffer.data(), buffer.size(), &record) == kCuptiSuccess);
  CuptiMemcpyRecord read_copy{};
  std::memcpy(&read_copy, record, sizeof read_copy);
  CHECK(read_copy.bytes == 4096);
  CHECK(read_copy.source == 2);
  REQUIRE(cupti.next(buffer.data(), buffer.size(), &record) == kCuptiSuccess);
  CuptiCallRecord read_call{};
  std::memcpy(&read_call, record, sizeof read_call);
  CHECK(read_call.function == 211);
  CHECK(read_call.thread == 77);
  REQUIRE(cupti.next(buffer.data(), buffer.size(), &record) == kCuptiSuccess);
  CuptiMemoryRecord read_memory{};
  std::memcpy(&read_memory, record, sizeof read_memory);
  CHECK(read_memory.operation == kMemoryReleased);
  CHECK(read_memory.memory == 3);
  CHECK(read_memory.address == 0x7f00);
  CHECK(read_memory.bytes == 1 << 21);
  CHECK(read_memory.time == 5000);
  CHECK(read_memory.device == 2);
  REQUIRE(cupti.next(buffer.data(), buffer.size(), &record) == kCuptiSuccess);
  CuptiUnifiedMemoryRecord read_unified{};
  std::memcpy(&read_unified, record, sizeof read_unified);
  CHECK(read_unified.counter == kCuptiUnifiedGpuFault);
  CHECK(read_unified.value == 12);
  CHECK(read_unified.end - read_unified.start == 2000);
  CHECK(read_unified.source == 1);
  CHECK(cupti.next(buffer.data(), buffer.size(), &record) == kCuptiMaxLimit);
  const char* name = nullptr;
  REQUIRE(cupti.function_name(kCuptiRuntime, 211, &name) == kCuptiSuccess);
  CHECK(std::strcmp(name, "cudaLaunchKernel_v7000") == 0);
}

}  // namespace
}  // namespace unstarve

#endif
