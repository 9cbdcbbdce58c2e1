#pragma once
// A sweep of the learning rate (Smith, arXiv:1506.01186): the rate rises by the same factor after every update of the
// weights, and the loss after each update is recorded.
//
// An update takes TrainSettings::accumulate batches, and is one point whatever that number is. The loss of a point is
// the mean over the batches of the following update, whose forward passes are the first with the changed weights. With
// float16, an update may be skipped by the loss scaler; its loss is recorded as any other.
//
// State:   that of the trainer is restored, bit-equal, also if an exception is thrown. The current batch and loss() are
//          those of the sweep.
// Batches: up to (updates + 1) * accumulate are taken from the source.
// Memory:  a copy of the trainer's state in host memory.
// Ranks:   all of them call it with the same options; losses are means over all ranks, and a stop of one stops all.
// Threads: runs on the calling thread, including `report`.
// Failure: exceptions of the trainer and the source; Error(kArgument) unless 0 < from < to, both finite, with two
//          updates or more; Error(kInput) if the source ends; Error(kCancelled) if stopped.

#include <functional>
#include <stop_token>

#include "unstarve/train/loop.h"
#include "unstarve/train/rate_curve.h"

namespace unstarve {

struct RateSweepOptions {
  double from = 1e-6;  // learning rates of the first and the last update
  double to = 10;
  int updates = 100;
  double diverged = 4;  // the sweep ends when the smoothed loss exceeds this multiple of its minimum
  std::function<void(const RateSweep&)> report{};  // called after each point; may be empty
  std::stop_token stop{};
};

// Throws Error(kArgument) as find_learning_rate().
void check_sweep(const RateSweepOptions& options);

// Precondition: the last step of `trainer`, if any, was with `update`. `accumulate`: batches per update.
[[nodiscard]] RateSweep find_learning_rate(Trainer& trainer, BatchSource& source, int accumulate,
                                           const RateSweepOptions& options = {});

}  // namespace unstarve
