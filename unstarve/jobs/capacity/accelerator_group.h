#pragma once
// Emulated accelerators that take batches from one feed and compute concurrently.
//
// Each accelerator follows a timeline of its own: a step begins when the one before has ended and a batch is in host
// memory, and takes the nominal time. If the batch was ready, the step begins at that end, even if the thread that
// emulates the accelerator wakes up a few milliseconds later: an accelerator continues without the CPU. Otherwise it
// begins when the batch arrives. Utilisation is nominal compute time divided by the time of the timeline.
//
// Accelerators of one training job wait for each other after every step, as for the sum of their gradients: the next
// step begins at the latest end.
//
// The feed is empty at first, and the first step is not counted: a loader that is too slow never has batches in stock,
// so that a short run shows its rate.
//
// Threads: one per accelerator, joined before the return. Failure: throws the first error of the feed.

#include <cstdint>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/jobs/capacity/batch_feed.h"
#include "unstarve/observe/accelerator.h"

namespace unstarve {

struct AcceleratorGroup {
  int accelerators = 1;
  int per_job = 1;     // accelerators of a job; 1: they do not wait for each other
  double seconds = 3;  // until no further step begins, but at least kLeastSteps are counted
  int batch = 1;       // samples
};
inline constexpr int kLeastSteps = 2;

// Times of one step: it waits for a batch until `ready_ns`, computes until `computed_ns`, and waits for the other
// accelerators of its job until `end_ns`.
struct AcceleratorStep {
  int accelerator = 0;
  std::int64_t begin_ns = 0, ready_ns = 0, computed_ns = 0, end_ns = 0;
};
inline constexpr std::size_t kMostAcceleratorSteps = 20000;  // that are recorded, the first of each accelerator

struct AcceleratorUse {
  double utilisation = 0;  // mean over the accelerators
  double lowest = 0;
  double samples_per_s = 0;  // of all accelerators
  std::int64_t steps = 0;    // counted, of all accelerators
  // Of the counted steps of all accelerators, in seconds.
  double computed_s = 0, data_wait_s = 0, job_wait_s = 0;
  std::vector<AcceleratorStep> recorded;  // also the steps that are not counted
};

[[nodiscard]] AcceleratorUse run_accelerators(const AcceleratorModel& model, const AcceleratorGroup& group,
                                              BatchFeed& feed, Clock& clock = steady_clock());

}  // namespace unstarve
