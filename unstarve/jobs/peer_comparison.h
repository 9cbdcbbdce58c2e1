#pragma once
// Measures this library's Python loader against Pillow and torchvision on the user's photographs, by starting
// `python -m unstarve.comparison DATA --json` and reading its lines:
//
//   {"progress": 0.4, "what": "torch's DataLoader with Pillow, 2 workers"}     any number
//   {"result": {...}} or {"error": "..."}                                      once
//
// The interpreter is that of the environment variable UNSTARVE_PYTHON, which must find the package unstarve. The
// command of a wheel and tools/demo.sh set it.
//
// Threads: one caller. Failure: what cannot be measured is listed in Comparison::left_out with the reason.

#include <string>
#include <string_view>

#include "unstarve/jobs/common/json.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/observe/comparison.h"

namespace unstarve {

struct ComparisonResult {
  Comparison comparison;
  std::string text;           // headline and table, or the reasons
  std::string json = "null";  // the result of the command
};

// `block_seconds`: length of a block of the measurement, which takes about a hundred times as long.
[[nodiscard]] ComparisonResult run_comparison(const std::string& data, double block_seconds,
                                              const Progress& progress = {});

// Reads the "result" of the command. Throws Error(kInput).
[[nodiscard]] ComparisonResult comparison_from_json(const Json& json);

}  // namespace unstarve
