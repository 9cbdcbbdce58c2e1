#pragma once
// How a memory limit is divided among what a plan keeps in memory (memory_plan.h tells the shares).
//
// Failure: Error(kArgument) where the limit is below the least working set. Cost: under a limit some dozens of records
// are read, to see how large they are.

#include "unstarve/pipeline/plan/plan.h"

namespace unstarve {

// Sets the plan's memory, and takes threads and prefetch of its spec back to what fits. `fewer_threads`: they were left
// open. `grow` and `on_device` as in make_plan().
void limit_memory(Plan& plan, bool fewer_threads, bool grow, OnDevice on_device);

}  // namespace unstarve
