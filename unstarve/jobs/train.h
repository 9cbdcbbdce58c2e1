#pragma once
// `unstarve train`: train a network on a dataset: combines loader, trainer and training loop as the settings specify.
//
// Resuming: a checkpoint contains weights, momentum, step number and resume position. The run continues with exactly
//           the next batch, or, with another batch size, with the remaining samples of the epoch (resume_position.h).
//
// Threads: one caller. Failure: as Loader, Trainer and run_training().

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/train/loop.h"

namespace unstarve {

struct BadSample;  // pipeline/executor/loader.h

struct TrainOptions {
  Settings settings;
  // Data to evaluate on: source or mix with filters, and operations that replace the default resize and crop. Each
  // sample is evaluated once, with the training batch size; order, weights and batch operations are ignored. Without a
  // source: no evaluation.
  PipelineSpec validation;
  double minutes = 0;         // 0: no limit
  double epochs = 0;          // 0: as many as fit in `minutes`
  double evaluate_every = 1;  // epochs; 0: only at the end
  // What is written at each evaluation, every `checkpoint_seconds`, at the end, and when the run is stopped.
  CheckpointTargets checkpoints;
  double checkpoint_seconds = 300;   // 0: not by time
  std::filesystem::path resume;      // checkpoint, folder of checkpoints or weights to start from; "": fresh weights
  std::filesystem::path weights;     // weights to start from, possibly of another number of classes; "": none
  std::filesystem::path quarantine;  // list of bad samples (quarantine.h), also written if the run fails; "": none
};

struct TrainResult {
  Settings settings;
  TrainHistory history;
  double epochs = 0;  // completed, including those before a resume
  std::int64_t parameters = 0;
  double macs = 0;             // multiply-adds per image, forward
  std::vector<BadSample> bad;  // skipped or replaced by the error policy
};

// Progress reports epoch, loss and rate; its share is that of the time or step limit.
[[nodiscard]] TrainResult run_train(const TrainOptions& options, const Progress& progress = {},
                                    std::stop_token stop = {});

[[nodiscard]] std::string to_text(const TrainResult& result);
// {model, device, batch, parameters, macs, epochs, steps, samples, seconds, samples_per_s, data_wait, loss_first,
// loss_last, accuracy, val_loss (null without validation), points[], evaluations[], bad[]}
[[nodiscard]] std::string to_json(const TrainResult& result);

}  // namespace unstarve
