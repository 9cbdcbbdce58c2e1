#pragma once
// Rates of I/O over a run: the mean, the median and percentiles of the points of its timeline.
//
// Threads: pure functions. Failure: none.

#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

// Of the points of a timeline, which are means over its interval.
struct RateUse {
  double mean = 0, p10 = 0, p50 = 0, p90 = 0;
};

// Per second; all are 0 if the run was too short for a point.
struct IoUse {
  double interval_s = 0;  // between two points
  RateUse read;           // bytes, by read(), also from the page cache and pipes
  RateUse storage;        // bytes that came from a device
  RateUse received, sent;
  RateUse major_faults;
  double cached_share = -1;  // of the bytes that were read, not from a device; -1: unknown, as more came from one
};

[[nodiscard]] IoUse io_use(const RunProfile& profile);

}  // namespace unstarve
