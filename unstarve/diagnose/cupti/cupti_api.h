#pragma once
// The functions of NVIDIA's CUPTI that module.cpp uses, and the beginnings of its records: the build does not need the
// headers of CUPTI. cupti_api_test.cpp compares both with them where they are installed.
//
// CUPTI extends records at their end, so that these beginnings hold for CUDA 12 and 13.

#include <cstddef>
#include <cstdint>

namespace unstarve {

using CuptiStatus = int;
inline constexpr CuptiStatus kCuptiSuccess = 0, kCuptiMaxLimit = 12, kCuptiMultipleSubscribers = 39;
inline constexpr std::uint32_t kCuptiOldest = 18, kCuptiNewest = 139'999;  // CUDA 12.0; before CUDA 14
inline constexpr std::uint32_t kCuptiDriver = 1, kCuptiRuntime = 2;        // domains of functions
inline constexpr std::uint32_t kCuptiFlushForced = 1;
inline constexpr std::uint32_t kCuptiThread = 2;  // a kind of objects

// Kinds of records.
inline constexpr std::uint32_t kCuptiMemcpy = 1, kCuptiMemset = 2, kCuptiKernel = 3, kCuptiDriverCall = 4,
                               kCuptiRuntimeCall = 5, kCuptiConcurrentKernel = 10, kCuptiOverhead = 17,
                               kCuptiUnifiedMemory = 25, kCuptiSynchronisation = 38,
                               kCuptiMemory = 49;  // that of CUDA 11.2 and later
// Kinds of counters of unified memory.
inline constexpr std::uint32_t kCuptiUnifiedToDevice = 1, kCuptiUnifiedToHost = 2, kCuptiUnifiedCpuFault = 3,
                               kCuptiUnifiedGpuFault = 4, kCuptiUnifiedThrashing = 5, kCuptiUnifiedThrottling = 6,
                               kCuptiUnifiedOnDevice = 8;

struct CuptiRecord {
  std::uint32_t kind;
};

struct __attribute__((packed, aligned(8))) CuptiKernelRecord {
  std::uint32_t kind;
  std::uint8_t unused[12];
  std::uint64_t start, end, completed;
  std::uint32_t device, context, stream;
  std::uint8_t unused2[44];
  std::int64_t grid;
  const char* name;
};

struct __attribute__((packed, aligned(8))) CuptiMemcpyRecord {
  std::uint32_t kind;
  std::uint8_t copy_kind, source, destination, flags;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream;
};

struct __attribute__((packed, aligned(8))) CuptiMemsetRecord {
  std::uint32_t kind, value;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream;
};

struct __attribute__((packed, aligned(8))) CuptiSynchronisationRecord {
  std::uint32_t kind, type;
  std::uint64_t start, end;
};

struct __attribute__((packed, aligned(8))) CuptiOverheadRecord {
  std::uint32_t kind, overhead, object;
  std::uint32_t id[3];  // of a kCuptiThread: the process, the thread
  std::uint64_t start, end;
};

struct __attribute__((packed, aligned(8))) CuptiMemoryRecord {
  std::uint32_t kind, operation, memory, correlation;
  std::uint64_t address, bytes, time, counter;
  std::uint32_t process, device, context, stream;
};

// `value`: bytes, or a number of faults; of a fault of the CPU an address of code.
struct __attribute__((packed, aligned(8))) CuptiUnifiedMemoryRecord {
  std::uint32_t kind, counter;
  std::uint64_t value, start, end, address;
  std::uint32_t source, destination;
};

// The setting of a counter; `scope` and `device` are not used since CUDA 7.
struct __attribute__((packed, aligned(8))) CuptiUnifiedMemorySetting {
  std::uint32_t scope, counter, device, enable;
};

struct __attribute__((packed, aligned(8))) CuptiCallRecord {
  std::uint32_t kind, function;
  std::uint64_t start, end;
  std::uint32_t process, thread, correlation, status;
};

// That the client gives to CUPTI: an empty buffer for records, and what is done with a full one.
using CuptiGiveBuffer = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using CuptiTakeBuffer = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);

// A null function is one that the library does not have; `complete()` names those that are required.
struct CuptiFunctions {
  CuptiStatus (*version)(std::uint32_t*) = nullptr;
  CuptiStatus (*timestamp)(std::uint64_t*) = nullptr;
  CuptiStatus (*text)(CuptiStatus, const char**) = nullptr;
  CuptiStatus (*subscribe)(void**, void (*)(void*, int, std::uint32_t, const void*), void*) = nullptr;
  CuptiStatus (*unsubscribe)(void*) = nullptr;
  CuptiStatus (*register_buffers)(CuptiGiveBuffer, CuptiTakeBuffer) = nullptr;
  CuptiStatus (*enable)(std::uint32_t) = nullptr;
  CuptiStatus (*disable)(std::uint32_t) = nullptr;
  CuptiStatus (*flush)(std::uint32_t) = nullptr;
  CuptiStatus (*next)(std::uint8_t*, std::size_t, CuptiRecord**) = nullptr;
  CuptiStatus (*function_name)(std::uint32_t, std::uint32_t, const char**) = nullptr;
  CuptiStatus (*enable_runtime)(std::uint32_t, std::uint8_t) = nullptr;
  CuptiStatus (*enable_driver)(std::uint32_t, std::uint8_t) = nullptr;
  CuptiStatus (*set_unified)(CuptiUnifiedMemorySetting*, std::uint32_t) = nullptr;

  [[nodiscard]] bool complete() const {
    return version && timestamp && subscribe && unsubscribe && register_buffers && enable && disable && flush && next;
  }
};

}  // namespace unstarve
