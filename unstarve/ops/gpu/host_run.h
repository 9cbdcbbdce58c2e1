#pragma once
// Runs a batch's program on the host by the kernel's code, with one team of one thread, to check the arithmetic without
// a device. Slow: the host's own operations are vectorised.
//
// Threads: one at a time per `scratch`.

#include <cstdint>

#include "unstarve/ops/gpu/output.h"
#include "unstarve/ops/gpu/program.h"

namespace unstarve::gpu {

// The order in which the single thread runs what a device runs concurrently. No result may depend on it.
enum class TeamOrder { kForwards, kBackwards, kScattered };

// `source`: the batch's source pixels. `scratch`: program.scratch.bytes(), for one team. All host memory.
void run_on_host(const BatchProgram& program, const std::uint8_t* source, const Output& output, std::uint8_t* scratch,
                 TeamOrder order = TeamOrder::kForwards);

}  // namespace unstarve::gpu
