#pragma once
// Emulated accelerators: consumers that hold each batch for as long as a known accelerator would compute on it.
//
// The step times are those of MLPerf Storage's workload configurations. The hold ends at a deadline on a monotonic
// clock, reached by sleeping short of it and spinning the rest, and utilisation is scored with the nominal time, so
// that an oversleep is a loss and not, as in the benchmark's own code, counted as work.
// Threads: an EmulatedAccelerator belongs to one consumer thread.
// Cost:    up to 300 us of one core per step for the spin: 0.1 % of an H100's ResNet-50 step, most of a DLRM step.

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
  double min_utilisation;  // what the benchmark demands; 0 where it does not
};

[[nodiscard]] std::span<const AcceleratorModel> accelerator_models();
// Throws Error(kArgument) that lists the known names.
[[nodiscard]] const AcceleratorModel& find_accelerator(std::string_view name);

class EmulatedAccelerator {
 public:
  // `step_ns` scaled for another batch size: time per sample is kept.
  // Throws Error(kArgument) when `batch` is below 1. `clock` must outlive this.
  EmulatedAccelerator(const AcceleratorModel& model, int batch, Clock& clock = steady_clock());
  // Holds one batch: returns when `step_ns` have passed since the call.
  void step();
  [[nodiscard]] std::int64_t step_ns() const { return step_ns_; }
  [[nodiscard]] std::int64_t nominal_compute_ns() const { return nominal_ns_; }  // steps so far x step_ns

 private:
  Clock& clock_;
  std::int64_t step_ns_;
  std::int64_t nominal_ns_ = 0;
};

}  // namespace unstarve
