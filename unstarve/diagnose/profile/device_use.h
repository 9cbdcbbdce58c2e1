#pragma once
// What a trace of another profiler shows of a training program, as plain data: its steps, the accelerators, the copies,
// and for what the accelerators waited. A part of RunProfile, with its version. Times are seconds.
//
// Sums cover the analysed time: the steps without the first one, or the whole trace if it has no steps.
//
//   step       |#### kernel ####|== copy ==|.. loader ..|#### kernel ####|      each moment counts to one part, so that
//   parts       kernel           copy       loader       kernel                 the parts of a step sum to its duration
//   idle                                    |  loader  |                        no device works: for what it waits
//
// Threads: plain data; the functions are pure. Failure: none.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/core/enum_words.h"

namespace unstarve {

// In descending priority: a moment counts to the first part that is active.
enum class StepActivity {
  kKernel,
  kCopy,  // between host and device, or on the device
  kMemset,
  kCommunication,  // kernels of collectives
  kRuntime,        // calls of the accelerator's runtime in threads that launch kernels
  kLoader,         // the main thread waits for the next batch
  kOperator,       // operators on the CPU, in any thread
  kOther,
};
template <>
inline constexpr std::array<std::string_view, 8> kWords<StepActivity>{"kernel",  "copy",   "memset",   "communication",
                                                                      "runtime", "loader", "operator", "other"};
inline constexpr std::size_t kStepActivities = words_of<StepActivity>().size();
using PartSeconds = std::array<double, kStepActivities>;  // by StepActivity

struct TraceStep {
  double seconds = 0;  // until the next step begins
  PartSeconds parts{};
};

// One accelerator. Times of several streams are summed, except busy_s.
struct DeviceUse {
  int index = 0;
  std::string name;                    // empty: unknown
  double compute_capability = 0;       // of CUDA, as 8.6; 0: unknown
  std::int64_t memory_bytes = 0;       // 0: unknown
  std::int64_t peak_memory_bytes = 0;  // that the framework reserved; 0: unknown
  double busy_s = 0;                   // with at least one kernel or collective
  double kernel_s = 0;
  double copy_s = 0;
  double memset_s = 0;
  double collective_s = 0;
  double matrix_s = 0;       // kernels of matrix products and convolutions, by name
  double tensor_core_s = 0;  // those of them that use tensor cores
};

enum class CopyDirection { kToDevice, kToHost, kOnDevice, kUnknown };
template <>
inline constexpr std::array<std::string_view, 4> kWords<CopyDirection>{"to device", "to host", "on device", "unknown"};
enum class MemoryKind { kUnknown, kPageable, kPinned, kDevice, kManaged };
template <>
inline constexpr std::array<std::string_view, 5> kWords<MemoryKind>{"unknown", "pageable", "pinned", "device",
                                                                    "managed"};

inline constexpr std::int64_t kTinyCopyBytes = 64 << 10;

// The copies of one direction from, or to, one kind of host memory.
struct CopyUse {
  CopyDirection direction = CopyDirection::kUnknown;
  MemoryKind host_memory = MemoryKind::kUnknown;
  std::int64_t count = 0;
  std::int64_t tiny = 0;  // of at most kTinyCopyBytes
  std::int64_t bytes = 0;
  double seconds = 0;
  double overlapped_s = 0;  // while a kernel runs
};

struct CallUse {
  std::int64_t count = 0;
  double seconds = 0;
};

// Calls of the runtime in threads that launch kernels.
struct RuntimeUse {
  CallUse launches, copies, synchronisations,
      allocations;  // allocations: of device and pinned memory, and their release
  double other_s = 0;
  double module_loading_s = 0;  // of CUDA modules and functions that are loaded when they are first used; CUPTI only
  double median_kernel_s = 0;
  std::int64_t kernels = 0;
};

// The time in which no device works, by what the host does. In a program without devices: all time of the main thread
// in the loader, in checkpoints and in logging.
struct IdleUse {
  double loader_s = 0;
  double checkpoint_s = 0;
  double logging_s = 0;
  double allocation_s = 0;
  double synchronisation_s = 0;  // after the host has waited for the device, for as long as it waited at most
  double launch_s = 0;           // the remaining time: the host launches more slowly than the device works
};

// How long no device worked at a time, while the program has devices: intervals by length. Bin i ends at kGapEnds[i]
// seconds, and the last one has no end.
inline constexpr std::array<double, 15> kGapEnds{1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3,
                                                 1e-2, 3e-2, 0.1,  0.3,  1,    3,    10};
struct IdleGaps {
  std::array<std::int64_t, kGapEnds.size() + 1> count{};
  std::array<double, kGapEnds.size() + 1> seconds{};
};

// An event of a TraceWindow.
struct WindowSpan {
  int lane = 0;  // index of TraceWindow::lanes
  int name = 0;  // ... of names
  StepActivity part = StepActivity::kOther;
  double begin_s = 0;  // since the begin of the window
  double seconds = 0;
};

// The events of a few consecutive steps of typical duration, or of the whole trace if it has no steps: those of the
// devices and of the threads that launch kernels, the longest ones.
struct TraceWindow {
  double seconds = 0;
  std::vector<double> steps;       // when they begin, since the begin of the window
  std::vector<std::string> lanes;  // "main thread", "thread 4712", "device 0, stream 7"
  std::vector<std::string> names;  // of events
  std::vector<WindowSpan> spans;   // by lane, then by begin; at most kMostSpans
  std::int64_t left_out = 0;       // shorter events
};
inline constexpr std::size_t kWindowSteps = 3;
inline constexpr std::size_t kMostSpans = 2000;

struct NamedTime {
  std::string name;
  std::int64_t count = 0;
  double seconds = 0;
};

// Memory that a process allocated from CUDA and released, of all its devices or pinned memory of the host, in the
// analysed time: watch records it in windows. Levels are bytes more than the least in the window, as what was allocated
// earlier is unknown. Memory that an allocator of a framework keeps and reuses does not appear.
struct MemoryUse {
  std::int64_t allocations = 0, releases = 0;
  std::int64_t allocated_bytes = 0;
  std::int64_t peak_bytes = 0;  // the highest level
  double growth_bytes = 0;      // per step, in the second half of the steps; 0 unless it grows in both of its halves
  std::vector<double> levels;   // the highest of each step, bytes; empty without steps, or if nothing changed
};

// Operators that ran on the CPU while no device worked, between a copy of their input to the host and one of their
// result to the device: the framework has no implementation for the device, or the program chose the CPU.
struct FallbackUse {
  std::int64_t count = 0;            // such gaps
  double seconds = 0;                // in them; not counted in IdleUse
  std::int64_t bytes = 0;            // that were copied before and after
  std::vector<NamedTime> operators;  // that ran in most of a gap, most time first, kMostNames at most; empty: unknown
};

// Unified memory (cudaMallocManaged): what the driver did because host and devices access the same pages. Pages that it
// copied are CopyUse of MemoryKind::kManaged.
struct UnifiedMemoryUse {
  std::int64_t cpu_faults = 0;  // accesses of the host to pages that were on a device
  std::int64_t gpu_faults = 0;  // accesses of devices to pages that were elsewhere
  std::int64_t thrashing = 0;   // regions of which the driver noticed that they move again and again
  double gpu_fault_s = 0;       // that the driver took for faults of devices
  double throttled_s = 0;       // that it delayed accesses, against thrashing
  double stalled_s = 0;         // with at least one of both
  [[nodiscard]] bool used() const { return cpu_faults + gpu_faults + thrashing > 0 || stalled_s > 0; }
};

// What a watched process did on its devices.
struct ProcessKernels {
  int pid = 0;
  int rank = -1;  // in the whole job; -1: unknown
  std::int64_t kernels = 0;
  std::int64_t steps = 0;
  double step_s = 0;             // median
  double busy_share = 0;         // of the analysed time, mean of its devices
  std::int64_t peak_memory = 0;  // as MemoryUse
  double memory_growth = 0;
  std::string missing;  // why no kernels, or no more, were recorded; empty: no reason
};

// Matrix products and convolutions, as far as the trace has the shapes of their operators.
struct ArithmeticUse {
  std::int64_t operators = 0;
  double operations_16 = 0;  // with numbers of 16 bits; a multiplication and its addition are two operations
  double operations_32 = 0;  // with float32
  double misaligned_16 = 0;  // the part of operations_16 with channels or features that are no multiples of 8
};

// Events of a trace that contradict its format, which are left out.
struct MalformedEvents {
  std::int64_t count = 0;
  std::vector<std::string> examples;  // "event 17: ts: found "abc"; expected a number of microseconds"; the first ones
};
inline constexpr std::size_t kMostMalformedExamples = 5;

enum class Framework { kUnknown, kPyTorch, kTensorFlow, kJax };
template <>
inline constexpr std::array<std::string_view, 4> kWords<Framework>{"unknown", "PyTorch", "TensorFlow", "JAX"};

struct TraceUse {
  std::string format;  // "Kineto", "XSpace", "Nsight Systems", "CUPTI"
  Framework framework = Framework::kUnknown;
  std::string loader;  // name of the range of the loader, empty: none was found
  double observed_s = 0;
  double analysed_s = 0;
  double overhead_s = 0;         // that the profiler reports of itself
  std::int64_t events = 0;       // that were evaluated
  std::int64_t left_out = 0;     // because of the memory limit
  std::int64_t image_bytes = 0;  // copied to the device as float32 in 4 dimensions
  std::vector<TraceStep> steps;  // at most kMostSteps
  PartSeconds parts{};
  IdleUse idle;
  RuntimeUse runtime;
  std::vector<DeviceUse> devices;  // that worked
  std::vector<CopyUse> copies;
  std::vector<NamedTime> kernels;    // most time first, at most kMostNames
  std::vector<NamedTime> operators;  // the same, by the time without the operators that they call
  IdleGaps gaps;
  TraceWindow window;
  MemoryUse memory;                       // of devices; missing in JSON if nothing changed
  MemoryUse pinned;                       // of the host; missing in JSON if nothing changed
  UnifiedMemoryUse unified;               // missing in JSON if there is none
  FallbackUse fallback;                   // missing in JSON if there is none
  ArithmeticUse arithmetic;               // missing in JSON if there are no shapes
  MalformedEvents malformed;              // missing in JSON if there are none
  std::vector<ProcessKernels> processes;  // of watch: most kernels first, the others of TraceUse are of the first
};
inline constexpr std::size_t kMostSteps = 100'000;
inline constexpr std::size_t kMostNames = 20;

// Whether recording itself took so much time that the sums permit no conclusion: of what watch records, 3 %. Those who
// record a trace for diagnose have chosen its cost.
[[nodiscard]] inline bool is_disturbed(const TraceUse& trace) noexcept {
  return trace.format == "CUPTI" && trace.overhead_s >= 0.03 * trace.analysed_s && trace.overhead_s > 0;
}

}  // namespace unstarve
