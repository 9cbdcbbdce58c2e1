#pragma once
// Texts that the table and the report of compress share.
//
// Threads: pure.

#include <fmt/format.h>

#include <string>

#include "unstarve/jobs/compress/step_ledger.h"

namespace unstarve {

[[nodiscard]] inline std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

// "int8: 11 of 11 layers, limits by mse"
[[nodiscard]] inline std::string title_of(const CompressStep& step) {
  return step.change.empty() ? step.name : step.name + ": " + step.change;
}

}  // namespace unstarve
