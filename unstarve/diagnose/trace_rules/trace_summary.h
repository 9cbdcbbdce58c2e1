#pragma once
// Shares and texts that the rules on traces have in common.
//
// Threads: pure functions. Failure: none.

#include <optional>
#include <string>

#include "unstarve/diagnose/rules/rule.h"

namespace unstarve {

// The function of a rule that reads the trace alone: finds nothing in profiles without one.
template <std::optional<RunFinding> (*find)(const TraceUse&)>
[[nodiscard]] std::optional<RunFinding> of_trace(const RunProfile& profile) {
  return profile.trace ? find(*profile.trace) : std::nullopt;
}
// A finding that these seconds are lost, still without evidence; nothing if they are less than the share `least` of the
// analysed time.
[[nodiscard]] std::optional<RunFinding> lost_time(const TraceUse& trace, const char* title, double seconds,
                                                  double least);

// The gain if `seconds` of this part of the steps vanish, in each step in proportion to the part. With eight or more
// steps, the interval is that of their block bootstrap: other steps of the same program would be in it. That
// the remaining time stays the same is an assumption. Otherwise the gain is without an interval.
[[nodiscard]] GainPrediction gain_without_part(const TraceUse& trace, StepActivity part, double seconds);

// Of the analysed time, 0..1.
[[nodiscard]] double share_of(const TraceUse& trace, double seconds);
[[nodiscard]] inline double share_of(const TraceUse& trace, StepActivity part) {
  return share_of(trace, trace.parts[static_cast<std::size_t>(part)]);
}
// "3.1 ms of a step of 10.2 ms (30 %)", or "1.2 s of 4.0 s (30 %)" if the trace has no steps.
[[nodiscard]] std::string time_of(const TraceUse& trace, double seconds);
// " in which all accelerators are idle", or nothing if the trace has none.
[[nodiscard]] const char* while_idle(const TraceUse& trace);
// Mean per step; the sum if there are no steps.
[[nodiscard]] double per_step(const TraceUse& trace, double count);
// Mean per step, or per second of the analysed time if there are no steps; and which of both.
[[nodiscard]] double rate_of(const TraceUse& trace, double count);
[[nodiscard]] inline const char* rate_unit(const TraceUse& trace) {
  return trace.steps.empty() ? "per second" : "per step";
}

// Time in which no device works because of what the host does, except allocations: after waits for the device, and the
// rest. What watch records knows only calls of CUDA: of its traces, the shares of the main thread's time in the loader,
// in checkpoints and in logs, as stacks show them, are subtracted, first from the rest; and all of it if workers limit
// the program.
struct HostIdle {
  double launch_s = 0;
  double synchronisation_s = 0;
};
[[nodiscard]] HostIdle host_idle(const RunProfile& profile);

// The copies of one direction, of one kind of memory or of all others.
[[nodiscard]] CopyUse copies_of(const TraceUse& trace, CopyDirection direction, bool pageable);
// Time of copies in which no kernel runs, at most that of all copies in a step.
[[nodiscard]] double exposed_s(const TraceUse& trace, const CopyUse& copies);

}  // namespace unstarve
