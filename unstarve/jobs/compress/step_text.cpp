#include "unstarve/jobs/compress/step_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unstarve/jobs/compress/compress.h"
#include "unstarve/jobs/inference/first_engine.h"
#include "unstarve/observe/format.h"

namespace unstarve {

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string title_of(const CompressStep& step) {
  return step.change.empty() ? step.name : step.name + ": " + step.change;
}

StepFigures figures_of(const CompressStep& step) {
  return {step.speed ? format_interval(step.speed->ratio, step.speed->low, step.speed->high) : "",
          step.p50_ms > 0 ? fmt::format("{:.3g}", step.p50_ms) : "", step.accuracy ? percent(step.accuracy->share) : "",
          step.size.bytes > 0 ? format_bytes(step.size.bytes) : ""};
}

const CompressStep& step_of_result(const CompressResult& r) {
  return *std::ranges::find_if(r.steps.rbegin(), r.steps.rend(), [](const CompressStep& step) {
    return step.state == StepState::kKept || step.state == StepState::kOriginal;
  });
}

int int8_kernels(const CompressStep& step) {
  int layers = 0;
  for (const auto& [kernel, count] : step.kernels) layers += is_int8_kernel(kernel) ? count : 0;
  return layers;
}

std::string settings_text(const EngineSettings& of) {
  return fmt::format("{}/{}/{}", of.streams, of.threads, of.batch);
}

std::vector<std::string> portability_lines(const CompressResult& r) {
  if (!r.portability) return {};
  const Portability& of = *r.portability;
  if (!of.failure.empty()) return {"not measured: " + of.failure};
  std::vector<std::string> lines{fmt::format("accuracy loss {} [{}, {}], measured in OpenVINO with AVX2 only",
                                             percent(of.loss.share), percent(of.loss.low), percent(of.loss.high))};
  if (of.seven_bits)
    lines.push_back(fmt::format("weights of 7 bits lose {} there: {}", percent(of.seven_bits->share),
                                (r.out / kSevenBitsFile).string()));
  return lines;
}

Json json_of(const EngineSettings& of) {
  return {{"streams", of.streams}, {"threads", of.threads}, {"batch", of.batch}, {"precision", of.precision}};
}

}  // namespace unstarve
