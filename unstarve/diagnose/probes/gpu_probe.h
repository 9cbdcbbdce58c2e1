#pragma once
// Samples NVIDIA GPUs through NVML while a program is watched, from a thread of its own: a driver may take seconds to
// start, and may hang.
//
// Cost:    samples are 0.1 to 10 s apart, so that the thread takes less than `cpu_share` of one core.
// Failure: never throws except std::bad_alloc. A machine without NVIDIA's driver has no GPUs and no problem. A driver
//          that hangs is left alone: the destructor waits for two seconds, the thread then ends with the process.
// Threads: one caller.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

struct GpuProbeOptions {
  double cpu_share = 0.004;  // of one core
  std::string library;       // of read_gpu_states()
  std::filesystem::path root = "/";
};

class GpuProbe {
 public:
  explicit GpuProbe(const GpuProbeOptions& options = {});
  ~GpuProbe();
  GpuProbe(const GpuProbe&) = delete;
  GpuProbe& operator=(const GpuProbe&) = delete;

  // The processes of the program at present.
  void set_program(std::span<const ProcessUse> processes);
  [[nodiscard]] double take_utilisation();  // GpuRecorder::take_utilisation()

  // Takes no more samples. Waits for the current one, two seconds at most.
  void stop();

  [[nodiscard]] std::vector<GpuUse> use(double from_s = 0) const;  // GpuRecorder::use()
  [[nodiscard]] std::string missing() const;  // why there are no GPUs although a driver exists; empty: no problem
  [[nodiscard]] double cpu_s() const;

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);
  std::shared_ptr<Shared> shared_;  // also of the thread, which may outlive this object
};

}  // namespace unstarve
