#pragma once
// Texts and JSON that the table, the report and the files of compress share.
//
// Threads: pure.

#include <string>
#include <vector>

#include "unstarve/jobs/common/json.h"

namespace unstarve {

struct CompressResult;
struct CompressStep;
struct EngineSettings;

[[nodiscard]] std::string percent(double share);
// "int8: 11 of 11 layers, limits by mse"
[[nodiscard]] std::string title_of(const CompressStep& step);

// The figures of a step; empty: not measured.
struct StepFigures {
  std::string speed, p50_ms, accuracy, bytes;
};
[[nodiscard]] StepFigures figures_of(const CompressStep& step);

// The last step that was kept, or the original.
[[nodiscard]] const CompressStep& step_of_result(const CompressResult& r);
// Convolutions and matrix products that the engine computes in int8.
[[nodiscard]] int int8_kernels(const CompressStep& step);
// Streams, threads and batch.
[[nodiscard]] std::string settings_text(const EngineSettings& of);
// What the result loses on CPUs without VNNI; empty: that does not differ.
[[nodiscard]] std::vector<std::string> portability_lines(const CompressResult& r);
[[nodiscard]] Json json_of(const EngineSettings& of);

}  // namespace unstarve
