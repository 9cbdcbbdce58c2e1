#pragma once
// What a trace shows of steps, devices and kernels, as text.
//
// Threads: a pure function. Failure: none.

#include <string>

#include "unstarve/diagnose/profile/device_use.h"

namespace unstarve {

// Begins with an empty line. Empty if nothing was analysed.
[[nodiscard]] std::string trace_to_text(const TraceUse& trace);

}  // namespace unstarve
