#pragma once
// What a process did on the GPU, and its NVTX ranges, in short windows: a file that module.cpp writes in that process
// and traces/kernel_log_events.h reads. It is readable at any time, also if the process is killed.
//
//   <process id>.cupti    KernelLogHeader, KernelLogEntry ... ; an entry kName, kMessage or kDevice is followed by
//                         its text, whose length is a multiple of 8 with zero bytes at the end
//
//   |header|name|begin|kernel|copy|call|...|range|end|begin|...|end|message|
//                \_________ one window _________/
//
// Begin and end of a window have both clocks, so that times of other sources can be placed. Entries of kernels, copies,
// calls may follow the end of their window; ranges do not. Numbers have the machine's byte order. The last entry may be
// incomplete.
//
// Ownership: a KernelLog owns its file and 64 KB of memory. Threads: one at a time.
// Failure:   nothing throws. If the file cannot be written, or has kMostLogBytes, is_full() is true and nothing more is
//            written.

#include <cstddef>
#include <cstdint>

namespace unstarve {

inline constexpr const char* kCuptiVariable = "UNSTARVE_CUPTI";         // the folder
inline constexpr const char* kCuptiModule = "libunstarve_cupti.so";     // module.cpp
inline constexpr const char* kInjection = "CUDA_INJECTION64_PATH";      // CUDA loads the library that it names,
inline constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";  // and NVTX that of this variable
inline constexpr std::size_t kMostLogBytes = std::size_t{32} << 20;

inline constexpr std::uint32_t kKernelLogVersion = 2;
inline constexpr std::uint32_t kFirstRangeName = 1u << 31;  // numbers of names from here on are those of ranges
struct KernelLogHeader {
  char magic[8];  // kKernelLogMagic
  std::uint32_t version = kKernelLogVersion;
  std::uint32_t process = 0;
};
inline constexpr char kKernelLogMagic[8] = {'U', 'N', 'S', 'T', 'C', 'U', 'P', 'T'};

enum class KernelLogKind : std::uint8_t {
  kName = 1,     // `name`: its number; `value`: length of the text
  kMessage,      // why recording is not possible or has ended; `value`: length of the text
  kWindowBegin,  // `begin_ns`, and the same moment of CLOCK_MONOTONIC in `value`; `detail` 1: of ranges only
  kWindowEnd,    // `end_ns`, and the same moment of CLOCK_MONOTONIC in `value`; `detail` 1: ranges were lost
  kKernel,       // `device`, `name`, `lane`: the stream
  kCopy,         // `detail`: CUPTI's kind of copy, `memory`: that of the host, `value`: bytes
  kMemset,
  kSynchronisation,  // of the host, `detail`: CUPTI's type
  kOverhead,         // `detail`: the upper half of CUPTI's kind
  kCall,             // of the runtime or driver, `lane`: the thread
  kRange,            // of NVTX, `lane`: the thread in which it ended; times of CLOCK_MONOTONIC
  kMemory,           // `detail`: kMemory..., `memory`: CUPTI's kind, `device`, `lane`: the address, `value`: bytes
  kUnified,          // of unified memory on any device, `detail`: CUPTI's kind of counter, `value`: faults
  kDevice,  // `detail`: ten times its compute capability, `lane`: bytes of memory; the text: "0000:41:00.0 H100"
};

inline constexpr std::uint8_t kMemoryAllocated = 1, kMemoryReleased = 2;
inline constexpr std::uint64_t kUnifiedLane = ~std::uint64_t{0};  // instead of a stream: the driver copies pages

struct KernelLogEntry {
  KernelLogKind kind = KernelLogKind::kName;
  std::uint8_t detail = 0, memory = 0, device = 0;
  std::uint32_t name = 0;
  std::int64_t begin_ns = 0, end_ns = 0;  // of CUPTI's clock; of CLOCK_MONOTONIC in windows of ranges only
  std::uint64_t value = 0, lane = 0;
};
static_assert(sizeof(KernelLogHeader) == 16 && sizeof(KernelLogEntry) == 40);

class KernelLog {
 public:
  KernelLog() = default;
  ~KernelLog();
  KernelLog(const KernelLog&) = delete;
  KernelLog& operator=(const KernelLog&) = delete;

  // Creates the file of this process in `folder`. False: it cannot be created.
  bool open(const char* folder) noexcept;
  void add(const KernelLogEntry& entry) noexcept;
  // `entry`: kName, kMessage or kDevice; its value is set. Texts are cut after 1,000 bytes.
  void add(KernelLogEntry entry, const char* text) noexcept;
  void flush() noexcept;
  [[nodiscard]] bool is_full() const noexcept { return full_; }
  [[nodiscard]] bool is_removed() const noexcept;  // watch has ended

 private:
  void append(const void* bytes, std::size_t size) noexcept;

  int file_ = -1;
  bool full_ = false;
  std::uint64_t most_ = kMostLogBytes;  // fewer if the process may write only smaller files
  std::size_t written_ = 0, used_ = 0;
  char buffer_[64 << 10];
};

}  // namespace unstarve
