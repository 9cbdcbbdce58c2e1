#pragma once
// Runs a batch's program on the host, by the kernel's own code, one team of one thread: what checks the arithmetic
// where there is no device. Not for speed: the host's operations are vectorised.
//
// Threads: pure but for `scratch`.

#include <cstdint>

#include "unstarve/ops/gpu/output.h"
#include "unstarve/ops/gpu/program.h"

namespace unstarve::gpu {

// The order in which the team's one thread takes what a device's threads do at the same time; no result may depend on
// it.
enum class TeamOrder { kForwards, kBackwards, kScattered };

// `source`: the batch's source pixels. `scratch`: program.scratch.bytes(), for one team. All memory is the host's.
void run_on_host(const BatchProgram& program, const std::uint8_t* source, const Output& output, std::uint8_t* scratch,
                 TeamOrder order = TeamOrder::kForwards);

}  // namespace unstarve::gpu
