#pragma once
// `unstarve train`: from files to a trained network: loader, trainer and loop put together from settings.
//
// Resuming: a checkpoint holds weights, momentum, the step number and where the run stands in its data, so that it goes
// on with the very batch it would have had next, or in batches of another size with the samples that were left of the
// epoch (resume_position.h).
// Threads: one caller. Failure: as Loader, Trainer and run_training().

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/train/loop.h"

namespace unstarve {

struct TrainOptions {
  Settings settings;
  // Data to evaluate on: source or mix with their filters, and operations in the place of the usual resize and crop.
  // Each sample comes once, in the training's batch size, whatever order, weights and batch operations it names.
  // Without a path or sources: none.
  PipelineSpec validation;
  double minutes = 0;                // 0: no limit
  double epochs = 0;                 // 0: as many as fit in `minutes`
  double evaluate_every = 1;         // epochs; 0: only at the end
  std::filesystem::path out;         // checkpoint; "": none
  std::filesystem::path resume;      // checkpoint or weights to start from; "": fresh weights
  std::filesystem::path quarantine;  // list of bad samples (quarantine.h), written also when the run fails; "": none
};

struct TrainResult {
  Settings settings;
  TrainHistory history;
  double epochs = 0;  // passed, those before a resume included
  std::int64_t parameters = 0;
  double macs = 0;             // multiply-adds per image, forward
  std::vector<BadSample> bad;  // skipped or replaced by policy
};

// Progress tells step, loss and rate; the share is of the time or the steps.
[[nodiscard]] TrainResult run_train(const TrainOptions& options, const Progress& progress = {},
                                    std::stop_token stop = {});

[[nodiscard]] std::string to_text(const TrainResult& result);
// {model, device, batch, parameters, macs, epochs, steps, samples, seconds, samples_per_s, data_wait, loss_first,
// loss_last, accuracy, val_loss (null without validation), points[], evaluations[], bad[]}
[[nodiscard]] std::string to_json(const TrainResult& result);

}  // namespace unstarve
