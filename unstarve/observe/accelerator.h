#pragma once
// Emulated accelerators: consumers that hold each batch for the step time of a known accelerator.
//
// Step times are those of MLPerf Storage's workload configurations. A hold ends at a deadline on a monotonic clock:
// it sleeps until shortly before the deadline and spins for the rest. Utilisation is computed from the nominal step
// time, so an oversleep counts as a loss (the benchmark's own code counts it as work).
//
// Threads: an EmulatedAccelerator belongs to one consumer thread.
// Cost:    spins for up to 300 us per step on one core: 0.1 % of an H100's ResNet-50 step, most of a DLRM step.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "unstarve/core/clock.h"

namespace unstarve {

struct AcceleratorModel {
  std::string_view name;   // "h100-resnet50"
  int batch;               // samples per step
  std::int64_t step_ns;    // nominal compute time of a step
  double sample_bytes;     // mean stored size of a sample in that workload
  double min_utilisation;  // required by the benchmark; 0: no requirement
  bool images;             // whether the samples are images, which the loader decodes
};

[[nodiscard]] std::span<const AcceleratorModel> accelerator_models();
// Throws Error(kArgument) with the list of known names.
[[nodiscard]] const AcceleratorModel& find_accelerator(std::string_view name);
// "h100" and "resnet50". Throws Error(kArgument) with the workloads of the accelerator and the accelerators of the
// workload.
[[nodiscard]] const AcceleratorModel& find_accelerator(std::string_view accelerator, std::string_view workload);

class EmulatedAccelerator {
 public:
  // Scales the model's step time to `batch`; the time per sample stays the same.
  // Throws Error(kArgument) if `batch` is below 1. `clock` must outlive this object.
  EmulatedAccelerator(const AcceleratorModel& model, int batch, Clock& clock = steady_clock());
  // Holds one batch: returns `step_ns` after the call.
  void step();
  // Holds one batch from `start_ns` on and returns the end, start_ns + step_ns(). Does not spin, so that many
  // accelerators leave the cores to the loader: it may return late, and the caller continues from the returned time.
  std::int64_t step_from(std::int64_t start_ns);
  [[nodiscard]] std::int64_t step_ns() const { return step_ns_; }
  [[nodiscard]] std::int64_t nominal_compute_ns() const { return nominal_ns_; }  // number of steps x step_ns

 private:
  Clock& clock_;
  std::int64_t step_ns_;
  std::int64_t nominal_ns_ = 0;
};

}  // namespace unstarve
