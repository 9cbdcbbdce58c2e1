#pragma once
// The training loop: wait for a batch, load, step, report, evaluate, save.
//
// The length of a run is given in steps or in minutes. With minutes, the total number of steps is estimated before each
// step: steps done, plus the steps that fit into the remaining time at the measured speed (without the slow first
// steps), minus the time of the last evaluation. The learning rate follows this estimate, so that it reaches zero at
// the end of the time on any machine.
//
// A step is one batch. With TrainSettings::accumulate, every n-th step and the last one update the weights;
// evaluations, checkpoints and stops wait for an update.
//
// Ranks:     with several, all of them run the loop with the same plan and settings. Rank 0 estimates the length of the
//            run and decides about checkpoints, a stop of any rank stops all of them after the same step. Rank 0 writes
//            the checkpoints.
// Threads:   runs on the calling thread, including `report`; checkpoints are written by a thread (checkpoints.h).
// Failure:   exceptions of the trainer and the sources; Error(kCheck) if the loss is not finite, with the last
//            checkpoint; Error(kCancelled) if stopped, or thrown by the source, after a checkpoint of the last
//            update was written; Error(kIo) if another rank has ended, Error(kCancelled) without message if another one
//            reports that. No checkpoint is written while the loss is not finite.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/train/checkpoints.h"
#include "unstarve/train/epoch_steps.h"
#include "unstarve/train/history.h"
#include "unstarve/train/trainer.h"

namespace unstarve {

// A source of batches. A batch is borrowed until the next call of next().
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // The next batch; false at the end. A source for training is endless.
  [[nodiscard]] virtual bool next(HostBatch& batch) = 0;
};

// One step of a trace.
struct TracedStep {
  std::int64_t step = 0;        // number, from 1
  double begin_s = 0;           // since the start of the run
  double wait_s = 0;            // for the batch
  double step_s = 0;            // from `begin_s` to the begin of Trainer::step()
  std::vector<StepSpan> spans;  // relative to the latter
};

// A position of the data: the function returns it as TrainProgress::data, also after further batches. It is called
// only for checkpoints, so it may be slow.
using DataPosition = std::function<std::string()>;

struct TrainPlan {
  std::int64_t steps = 0;       // total, including steps before a resume; 0: as many as fit in `minutes`
  double minutes = 0;           // 0: no limit. With both, the first limit reached ends the run
  std::int64_t start_step = 0;  // from Trainer::restore()
  double waited_seconds = 0;    // for data before run_training(); counted as part of the run
  // Evaluations are counted from this step: the start of the first epoch if all batches before `start_step` had the
  // present size. May be negative.
  std::int64_t first_step = 0;
  EpochSteps epoch_steps;           // from `first_step` on, for evaluations and StepPosition; may be unknown
  std::int64_t report_every = 50;   // steps between points; reading the loss waits for the device
  std::int64_t evaluate_every = 0;  // steps of full epochs between evaluations; 0: only at the end
  double target = 0;                // accuracy at which an evaluation ends the run, 0..1; 0: none
  CheckpointTargets checkpoints;    // written at each evaluation, at the end, and when the run is stopped
  double checkpoint_seconds = 0;    // and after this time since the last one; 0: not by time
  // Creates a pass over the validation data; may be empty. A timed run uses validation_batches to reserve time for the
  // last evaluation until one has been measured; 0: unknown.
  std::function<std::unique_ptr<BatchSource>()> validation;
  std::int64_t validation_batches = 0;
  // Returns the position of the source after its last batch, for checkpoints; may be empty. Called at each update with
  // several steps per update, otherwise for each checkpoint.
  std::function<DataPosition()> data_position;
  std::optional<Normalisation> normalisation;  // TrainProgress
  // Called for each new point; may be empty.
  std::function<void(const TrainHistory&)> report;
  // Called for each of 20 steps, from the 4th one on; may be empty. Their times are taken, which waits for the device.
  std::function<void(const TracedStep&)> trace;
  std::function<void(const std::string&)> notice;  // messages: of the trainer, and about checkpoints that failed
  std::stop_token stop{};                          // ends the run after a checkpoint
  int rank = 0;                                    // of this process, and the number of ranks
  int world = 1;
};

// If all steps are done already, only evaluates, and writes the resumed state to other targets. Throws
// Error(kArgument) if the plan has neither steps nor minutes, if it has fewer steps than are done, or if the plans of
// the ranks differ.
[[nodiscard]] TrainHistory run_training(Trainer& trainer, const TrainSettings& settings, BatchSource& source,
                                        const TrainPlan& plan, Clock& clock = steady_clock());

// One pass over `source`. Throws Error(kInput) if it is empty.
[[nodiscard]] Evaluation evaluate_all(Trainer& trainer, BatchSource& source, std::stop_token stop = {});

}  // namespace unstarve
