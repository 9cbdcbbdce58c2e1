#pragma once
// Steps of a training run in the Trace Event Format of Chrome and Perfetto: on one track the loop, on another the
// exchange of gradients.
//
// Threads: a pure function. Failure: none.

#include <span>
#include <string>

#include "unstarve/train/loop.h"

namespace unstarve {

[[nodiscard]] std::string step_trace(std::span<const TracedStep> steps);

}  // namespace unstarve
