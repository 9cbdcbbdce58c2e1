#pragma once
// Checks that a plan's program is well formed. Run after every pass; a failure is a defect of that pass.
//
// Threads: pure.

#include <string>

namespace unstarve {

struct Plan;

// The first violation; empty for a valid plan. In a valid program every field is written once, before it is read
// (fields.h); every operation is applied exactly once and in order on every path (with and without a cache hit), to the
// region that was drawn for it; the last step is the only StoreStep. All stages have as many operations as the spec.
[[nodiscard]] std::string violation(const Plan& plan);

}  // namespace unstarve
