#pragma once
// Checks that a plan's program is well formed. Run after every pass; a failure is a defect of that pass.
//
// Threads: pure.

#include <string>

namespace unstarve {

struct Plan;

// The first violation; empty for a valid plan. A valid program reads, opens and decodes each image once before it is
// used, selects an operation before it is applied to the selected region, applies every operation exactly once and in
// order on every path (with and without a cache hit), and ends with its only StoreStep. All stages have as many
// operations as the spec.
[[nodiscard]] std::string violation(const Plan& plan);

}  // namespace unstarve
