#pragma once
// What an event is, from its name. The names are those of CUDA, HIP, NCCL, cuBLAS, cuDNN, CUTLASS, PyTorch, TensorFlow,
// JAX and Lightning.
//
// Threads: pure functions. Failure: none.

#include <optional>
#include <string>
#include <string_view>

#include "unstarve/diagnose/traces/trace_events.h"

namespace unstarve {

struct KernelTraits {
  bool collective = false;   // of NCCL, RCCL, or a collective of XLA
  bool matrix = false;       // matrix product or convolution
  bool tensor_core = false;  // one that uses tensor cores
  bool unclear = false;      // a matrix product whose name does not show that; `matrix` is false
};
[[nodiscard]] KernelTraits kernel_traits(std::string_view name);

// A function of the runtime or driver: "cudaLaunchKernel", "cuMemAlloc_v2", "hipMemcpyAsync", "cudaFree_v3020".
[[nodiscard]] TraceActivity runtime_activity(std::string_view name);

// A range that the program or the framework has named; nothing if the name has no known meaning.
[[nodiscard]] std::optional<TraceActivity> range_activity(std::string_view name);

// The name of a range without its number, in lower case: "step" for "Step #12".
[[nodiscard]] std::string range_stem(std::string_view name);

// A function in a Python stack, as "torch/serialization.py(944): save"; nothing if it is of no interest.
[[nodiscard]] std::optional<TraceActivity> python_activity(std::string_view name);

struct CopyName {
  CopyDirection direction = CopyDirection::kUnknown;
  MemoryKind host_memory = MemoryKind::kUnknown;
};
// "Memcpy HtoD (Pageable -> Device)", "MemcpyD2H", "Memcpy DtoD (Device -> Device)".
[[nodiscard]] CopyName copy_name(std::string_view name);
// "pageable", "Pinned", "device", ...
[[nodiscard]] MemoryKind memory_kind(std::string_view word);

}  // namespace unstarve
