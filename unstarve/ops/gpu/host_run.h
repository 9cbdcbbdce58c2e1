#pragma once
// Runs a batch's program on the host by the kernel's code, with one team of one thread, to check the arithmetic without
// a device. Slow: the host's own operations are vectorised.
//
// Threads: one at a time per scratch memory.

#include "unstarve/ops/gpu/output.h"
#include "unstarve/ops/gpu/program.h"

namespace unstarve::gpu {

// The order in which the single thread runs what a device runs concurrently. No result may depend on it.
enum class TeamOrder { kForwards, kBackwards, kScattered };

// All host memory, with scratch for one team.
void run_on_host(const BatchProgram& program, const BatchMemory& memory, const Output& output,
                 TeamOrder order = TeamOrder::kForwards);

}  // namespace unstarve::gpu
