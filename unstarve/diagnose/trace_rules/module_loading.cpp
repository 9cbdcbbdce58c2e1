// Code for the accelerator is loaded within steps: lazily, when a kernel is first used.

#include <fmt/format.h>

#include "unstarve/diagnose/trace_rules/trace_summary.h"

namespace unstarve {
namespace {

std::optional<RunFinding> find_module_loading(const TraceUse& trace) {
  std::optional<RunFinding> finding =
      lost_time(trace, "code for the accelerator is loaded within steps", trace.runtime.module_loading_s, 0.03);
  if (!finding) return std::nullopt;
  finding->evidence =
      fmt::format("CUDA loads modules and functions for {}; each kernel is loaded when it is first used",
                  time_of(trace, trace.runtime.module_loading_s));
  finding->change =
      "if this continues after the first steps, the program uses new kernels in every step: keep the shapes of batches "
      "constant. If only the first steps are slow, measure later ones, or start with CUDA_MODULE_LOADING=EAGER, which "
      "loads everything before the first step";
  return finding;
}

}  // namespace

const Rule kModuleLoading{"module-loading", "CUDA loads modules or functions on first use for 3 % of the step (CUPTI)",
                          of_trace<find_module_loading>};

}  // namespace unstarve
