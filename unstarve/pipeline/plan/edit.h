#pragma once
// Edits of a plan's program, shared by passes. Jump targets are adjusted.
//
// Threads: pure.

#include <functional>

#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

// The index of the first step equal to `step`. Precondition: there is one.
[[nodiscard]] StepIndex index_of(const Plan& plan, const Step& step);
// Inserts `step` before the step at index `at`.
void insert_step(Plan& plan, StepIndex at, const Step& step);
void erase_steps(Plan& plan, const std::function<bool(const Step&)>& condition);

// The step that applies `op`. Precondition: there is one.
[[nodiscard]] ApplyStep& apply_step(Plan& plan, OpIndex op);
// Inserts the step that draws the region of the first operation before decoding, unless there is one, and returns the
// decode step. Precondition: encoded images, at least one operation, no cache of pixels.
DecodeStep& insert_select(Plan& plan);

}  // namespace unstarve
