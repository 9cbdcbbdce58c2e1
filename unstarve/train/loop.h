#pragma once
// Training from first batch to last: wait, load, step, report, evaluate, save. It reads top to bottom in loop.cpp.
//
// How long it runs is given in steps or in minutes. With minutes, the number of steps is not known beforehand: before
// each step the total is taken to be the steps done plus those that fit into the time left at the speed measured so
// far (the first steps, slow with warming up, excluded), less what the last evaluation will take. The learning rate
// follows that total, so it reaches zero as the time ends, however fast the machine is and however its speed changes.
//
// Threads:   everything runs on the calling thread; `report` is called on it.
// Failure:   what the trainer or the sources throw; Error(kCheck) when the loss is no longer a number,
//            Error(kCancelled) when stopped. A checkpoint file is whole or not there.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

// Where batches come from. A batch is borrowed until the next call of next().
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // The next batch; false at the end, which a source for training has not.
  [[nodiscard]] virtual bool next(HostBatch& batch) = 0;
};

struct TrainPoint {
  std::int64_t step = 0;  // steps done
  std::int64_t samples = 0;
  double seconds = 0;  // since the start of this run
  double loss = 0;     // of the latest step
  double learning_rate = 0;
  double wait_share = 0;     // of the time since the point before: waiting for batches
  double samples_per_s = 0;  // over the same time, evaluations excluded
};

struct EvaluationPoint {
  std::int64_t step = 0;
  double seconds = 0;
  double accuracy = 0;  // share of samples, 0..1
  double loss = 0;      // mean
};

struct TrainHistory {
  std::vector<TrainPoint> points;
  std::vector<EvaluationPoint> evaluations;  // the last one is the result; empty without validation data
  std::int64_t steps = 0;                    // done in all, those before a resume included
  std::int64_t samples = 0;                  // in this run
  double seconds = 0;
  double wait_seconds = 0;
};

struct TrainPlan {
  std::int64_t steps = 0;       // total, those before a resume included; 0: as many as fit in `minutes`
  double minutes = 0;           // 0: no limit. With both, whichever comes first ends the run
  std::int64_t start_step = 0;  // what Trainer::restore() returned
  // Evaluations are counted from here: where the first epoch would have begun, were all batches before `start_step` as
  // large as they are now. May be negative.
  std::int64_t first_step = 0;
  std::int64_t report_every = 50;    // steps between points; reading the loss waits for the device
  std::int64_t evaluate_every = 0;   // steps between evaluations; 0: only at the end
  std::filesystem::path checkpoint;  // written at each evaluation and at the end; empty: none
  // A fresh pass over the validation data; may be empty. Its number of batches tells a timed run how much time to leave
  // for the last evaluation as long as none was measured; 0 where unknown.
  std::function<std::unique_ptr<BatchSource>()> validation;
  std::int64_t validation_batches = 0;
  // Where the source stands behind the batch that it gave last, for checkpoints (TrainProgress::data); may be empty.
  std::function<std::string()> place;
  // Called for each new point; may be empty.
  std::function<void(const TrainHistory&)> report;
};

// Throws Error(kArgument) when the plan has neither steps nor minutes, and when `start_step` leaves none of its steps.
[[nodiscard]] TrainHistory run_training(Trainer& trainer, const TrainSettings& settings, BatchSource& source,
                                        const TrainPlan& plan, std::stop_token stop = {},
                                        Clock& clock = steady_clock());

// One pass over `source`. Throws Error(kInput) when it is empty.
[[nodiscard]] Evaluation evaluate_all(Trainer& trainer, BatchSource& source, std::stop_token stop = {});

}  // namespace unstarve
