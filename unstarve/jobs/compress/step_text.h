#pragma once
// Texts and JSON that the table, the report and the files of compress share.
//
// Threads: pure.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/compress/compress.h"
#include "unstarve/jobs/inference/first_engine.h"
#include "unstarve/observe/format.h"

namespace unstarve {

[[nodiscard]] inline std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

// "int8: 11 of 11 layers, limits by mse"
[[nodiscard]] inline std::string title_of(const CompressStep& step) {
  return step.change.empty() ? step.name : step.name + ": " + step.change;
}

// The figures of a step; empty: not measured.
struct StepFigures {
  std::string speed, p50_ms, accuracy, bytes;
};
[[nodiscard]] inline StepFigures figures_of(const CompressStep& step) {
  return {step.speed ? format_interval(step.speed->ratio, step.speed->low, step.speed->high) : "",
          step.p50_ms > 0 ? fmt::format("{:.3g}", step.p50_ms) : "", step.accuracy ? percent(step.accuracy->share) : "",
          step.size.bytes > 0 ? format_bytes(step.size.bytes) : ""};
}

// The last step that was kept, or the original.
[[nodiscard]] inline const CompressStep& step_of_result(const CompressResult& r) {
  return *std::ranges::find_if(r.steps.rbegin(), r.steps.rend(), [](const CompressStep& step) {
    return step.state == StepState::kKept || step.state == StepState::kOriginal;
  });
}

// Convolutions and matrix products that the engine computes in int8.
[[nodiscard]] inline int int8_kernels(const CompressStep& step) {
  int layers = 0;
  for (const auto& [kernel, count] : step.kernels) layers += is_int8_kernel(kernel) ? count : 0;
  return layers;
}

// Streams, threads and batch.
[[nodiscard]] inline std::string settings_text(const EngineSettings& of) {
  return fmt::format("{}/{}/{}", of.streams, of.threads, of.batch);
}

// What the result loses on CPUs without VNNI; empty: that does not differ.
[[nodiscard]] inline std::vector<std::string> portability_lines(const CompressResult& r) {
  if (!r.portability) return {};
  const Portability& of = *r.portability;
  if (!of.failure.empty()) return {"not measured: " + of.failure};
  std::vector<std::string> lines{fmt::format("{} [{}, {}] of accuracy are lost, measured in OpenVINO with AVX2 only",
                                             percent(of.loss.share), percent(of.loss.low), percent(of.loss.high))};
  if (of.seven_bits)
    lines.push_back(fmt::format("weights of 7 bits lose {} there: {}", percent(of.seven_bits->share),
                                (r.out / kSevenBitsFile).string()));
  return lines;
}

[[nodiscard]] inline Json json_of(const EngineSettings& of) {
  return {{"streams", of.streams}, {"threads", of.threads}, {"batch", of.batch}, {"precision", of.precision}};
}

}  // namespace unstarve
