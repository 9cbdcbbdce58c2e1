#pragma once
// Finds the steps of a training loop in the stacks of the main thread, without markers in the program.
//
// The function that contains the loop executes its lines in cycles. Of the lines that take much time, the one that is
// visited least often marks the steps. Only lines of the program itself, and of libraries that contain a training loop
// (is_trainer()), mark steps: other libraries, and what a loader calls, have loops within a step. Steps that take less
// than three samples are not found.
//
// Threads: pure functions.

#include "unstarve/diagnose/probes/stack_recording.h"
#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

// `source` is empty if no loop with at least four steps is found.
[[nodiscard]] StepUse find_steps(const StackRecording& recording, int main_process);

// Adds the steps of a later recording of the same loop; if the loop differs, the one with more steps is kept.
void add_steps(StepUse& sum, const StepUse& steps);

}  // namespace unstarve
