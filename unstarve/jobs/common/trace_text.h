#pragma once
// What a trace shows of steps, devices and kernels, as text.
//
// Threads: a pure function. Failure: none.

#include <string>
#include <vector>

#include "unstarve/diagnose/profile/device_use.h"

namespace unstarve {

// Of every process with kernels: process, rank, kernels, steps, milliseconds per step, busy, highest level and growth
// of device memory, why no (more) kernels were recorded. Unknown: empty.
[[nodiscard]] std::vector<std::vector<std::string>> kernel_process_rows(const TraceUse& trace);

// How many events were left out, and the first ones; empty: none.
[[nodiscard]] std::vector<std::string> malformed_notes(const MalformedEvents& malformed);

// Begins with an empty line. Empty if nothing was analysed.
[[nodiscard]] std::string trace_to_text(const TraceUse& trace);

}  // namespace unstarve
