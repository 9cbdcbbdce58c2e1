#pragma once
// Texts and JSON that the table, the report and the files of compress share.
//
// Threads: pure.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/compress/step_ledger.h"
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

[[nodiscard]] inline Json json_of(const EngineSettings& of) {
  return {{"streams", of.streams}, {"threads", of.threads}, {"batch", of.batch}, {"precision", of.precision}};
}

}  // namespace unstarve
