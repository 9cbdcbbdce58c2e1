#pragma once
// Runs the plan's batch steps (plan/step.h) on a slot whose samples are all written.
//
// Sets what the slot delivers. A slot with a failure, or without a good sample, is left as it is
// from that step on.
//
// Threads: the worker that finished the batch. Failure: throws Error for a sample that does not fit a batch operation.

namespace unstarve {

struct Run;
struct Slot;

void complete_batch(const Run& run, Slot& slot);

}  // namespace unstarve
