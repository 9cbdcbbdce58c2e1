#include "unstarve/observe/accelerator.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

// MLPerf Storage, configs/dlio/workload/<workload>_<accelerator>.yaml of mlcommons/storage (V100: argonne-lcf's
// dlio_benchmark): batch_size, computation_time, record_length_bytes and metric.au. The B200 unet3d time is an
// extrapolation in that file (H100 / 2). Image workloads come first.
constexpr double kUnetBytes = 146'600'628;
constexpr double kResnetBytes = 114'660;
constexpr double kRetinaBytes = 322'957;
constexpr double kFluxBytes = 2'164'832;
constexpr double kCosmoBytes = 2'828'486;
constexpr double kDlrmBytes = 761;
constexpr std::array<AcceleratorModel, 17> kModels = {{
    {"h100-resnet50", 400, 224'000'000, kResnetBytes, 0.90, true},
    {"a100-resnet50", 400, 435'000'000, kResnetBytes, 0.90, true},
    {"v100-resnet50", 64, 195'000'000, kResnetBytes, 0, true},
    {"b200-retinanet", 24, 47'550'000, kRetinaBytes, 0.85, true},
    {"mi355-retinanet", 32, 63'400'000, kRetinaBytes, 0.85, true},
    {"b200-flux", 48, 1'350'000'000, kFluxBytes, 0.90, true},
    {"mi355-flux", 72, 2'025'000'000, kFluxBytes, 0.90, true},
    {"b200-unet3d", 7, 162'000'000, kUnetBytes, 0.90, false},
    {"h100-unet3d", 7, 323'000'000, kUnetBytes, 0.90, false},
    {"a100-unet3d", 7, 636'000'000, kUnetBytes, 0.90, false},
    {"v100-unet3d", 4, 1'360'400'000, kUnetBytes, 0.90, false},
    {"h100-cosmoflow", 1, 3'500'000, kCosmoBytes, 0.70, false},
    {"a100-cosmoflow", 1, 5'510'000, kCosmoBytes, 0.70, false},
    {"v100-cosmoflow", 1, 9'360'000, kCosmoBytes, 0, false},
    {"v100-bert", 48, 968'000'000, 2'500, 0.90, false},
    {"b200-dlrm", 16'384, 375'000, kDlrmBytes, 0.70, false},
    {"mi355-dlrm", 16'384, 562'500, kDlrmBytes, 0.70, false},
}};

// A sleep returns about 60 us late, sometimes more: wake up this long before the deadline and spin for the rest.
constexpr std::int64_t kSpinNs = 300'000;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

std::span<const AcceleratorModel> accelerator_models() { return kModels; }

const AcceleratorModel& find_accelerator(std::string_view name) {
  std::string known;
  for (const AcceleratorModel& model : kModels) {
    if (model.name == name) return model;
    known += known.empty() ? "" : ", ";
    known += model.name;
  }
  throw Error(ErrorKind::kArgument, fmt::format("emulated accelerator: found '{}'; expected one of {}", name, known));
}

const AcceleratorModel& find_accelerator(std::string_view accelerator, std::string_view workload) {
  const std::string name = fmt::format("{}-{}", accelerator, workload);
  std::string workloads, accelerators, all;
  for (const AcceleratorModel& model : kModels) {
    if (model.name == name) return model;
    const std::string_view known = model.name.substr(0, model.name.find('-'));
    const std::string_view use = model.name.substr(known.size() + 1);
    const auto add = [](std::string& list, std::string_view word) {
      list += list.empty() ? "" : ", ";
      list += word;
    };
    if (known == accelerator) add(workloads, use);
    if (use == workload) add(accelerators, known);
    add(all, model.name);
  }
  std::string expected = "one of " + all;
  if (!workloads.empty() && !accelerators.empty())
    expected = fmt::format("{} for {}, or {} for {}", workloads, accelerator, accelerators, workload);
  else if (!workloads.empty())
    expected = fmt::format("{} for {}", workloads, accelerator);
  else if (!accelerators.empty())
    expected = fmt::format("{} for {}", accelerators, workload);
  throw Error(ErrorKind::kArgument,
              fmt::format("accelerator {}, workload {}: MLPerf Storage has no such pair; expected "
                          "{}",
                          accelerator, workload, expected));
}

EmulatedAccelerator::EmulatedAccelerator(const AcceleratorModel& model, int batch, Clock& clock)
    : clock_(clock), step_ns_(0) {
  if (batch < 1) {
    throw Error(ErrorKind::kArgument,
                fmt::format("emulated accelerator {}: batch size {}; expected at least 1", model.name, batch));
  }
  step_ns_ = std::llround(static_cast<double>(model.step_ns) * batch / model.batch);
}

void EmulatedAccelerator::step() {
  const std::int64_t deadline = clock_.now_ns() + step_ns_;
  if (step_ns_ > kSpinNs) clock_.sleep_until(deadline - kSpinNs);
  while (clock_.now_ns() < deadline) pause();
  nominal_ns_ += step_ns_;
}

std::int64_t EmulatedAccelerator::step_from(std::int64_t start_ns) {
  const std::int64_t end = start_ns + step_ns_;
  clock_.sleep_until(end);
  nominal_ns_ += step_ns_;
  return end;
}

}  // namespace unstarve
