#pragma once
// Reduces the events of a trace to a TraceUse.
//
//   steps      see steps.h.
//   threads    main: that of the steps, else that with the most events. Calls of the runtime count in it and in threads
//              that launch kernels (autograd has one), loader, checkpoints and logging in the main thread only.
//   fallback   see fallback.h
//   idle       see IdleUse; if several causes hold at a moment, it counts to the first one in the order of the members.
//
// Threads: a pure function. Failure: none.
// Cost:    sorts the events; memory for the intervals is 16 bytes per event at most.

#include "unstarve/diagnose/traces/trace_events.h"

namespace unstarve {

// Consumes the events.
[[nodiscard]] TraceUse reduce_trace(TraceEvents& events);

}  // namespace unstarve
