#pragma once
// Reads the file that the library in a watched process writes (cupti/kernel_log.h): kernels, copies, device memory,
// calls of the runtime and NVTX ranges in short windows. Names of kernels are demangled. Calls of the driver within
// calls of the runtime are left out, and so are ranges without a known meaning (activity_names.h), and those of a
// window of which some were lost.
//
// Threads: one. Ownership: values.
// Failure: as parse_kernel_log().

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "unstarve/diagnose/profile/run_profile.h"
#include "unstarve/diagnose/traces/kernel_log_file.h"
#include "unstarve/diagnose/traces/trace_events.h"

namespace unstarve {

struct KernelLogFacts {
  std::uint32_t process = 0;
  std::int64_t kernels = 0;
  std::vector<KernelWindow> windows;         // with kernels; in order, disjoint
  std::map<int, std::string> pci_addresses;  // of devices by their index, as "0000:41:00.0"
  TraceEvents ranges;                        // that may be steps, of all windows; CLOCK_MONOTONIC
  std::string message;                       // why recording was not possible, or has ended; empty: no reason
};

// Adds the events of windows with kernels, and sets `recorded`, `format` and `framework`. Their steps are those of
// ranges, or none. `name` is that of the file, for errors.
[[nodiscard]] KernelLogFacts read_kernel_log(std::span<const std::uint8_t> file, const std::string& name,
                                             TraceEvents& events);

// Adds a step between every two times that follow each other in a window. `times`: ends of steps, seconds of
// CLOCK_MONOTONIC, ascending. False: none was added.
bool add_marked_steps(const KernelLogFacts& facts, std::span<const double> times, TraceEvents& events);

// The same by the sequence of kernels (kernel_period.h). Adds nothing if ranges mark steps.
bool add_steps_by_kernels(const KernelLogFacts& facts, TraceEvents& events);

// When the first step of `events` begins (steps.h), seconds of CLOCK_MONOTONIC; 0: there are none.
[[nodiscard]] double first_step_s(const KernelLogFacts& facts, TraceEvents& events);

// The steps that ranges mark (steps.h), also in windows without kernels. `source` is empty if there are none.
[[nodiscard]] StepUse steps_by_ranges(KernelLogFacts& facts);

// Share of the time by which steps in windows are longer than the others, by their medians; 0 if there are too few.
// `times` as above.
[[nodiscard]] double cost_of_recording(const KernelLogFacts& facts, std::span<const double> times);

}  // namespace unstarve
