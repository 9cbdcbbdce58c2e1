#pragma once
// `unstarve train`: train a network on a dataset: combines loader, trainer and training loop as the settings specify.
//
// Data:     a loader makes the batches, or, with TrainSettings::resident, the device gathers them from images that stay
//           there if these need at most half of its free memory. Batches, checkpoints and ranks are the same.
//
// Resuming: a checkpoint contains weights, momentum, step number and resume position. The run continues with exactly
//           the next batch, or, with another batch size, with the remaining samples of the epoch
//           (training/resume_position.h).
//
// Ranks:    with several, all of them call run_train() with the same options; each trains on its share of the data. The
//           result of rank 0 is that of all.
//
// Checks:  all faults of settings, device and data are reported together, before anything is allocated.
//
// Threads: one caller. Failure: as check_run(), Loader, Trainer and run_training().

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/jobs/training/configuration_faults.h"
#include "unstarve/jobs/training/lost_ranks.h"
#include "unstarve/jobs/training/phase_times.h"
#include "unstarve/pipeline/executor/bad_sample.h"
#include "unstarve/train/checkpoints.h"
#include "unstarve/train/history.h"

namespace unstarve {

struct Report;  // observe/report.h

struct TrainOptions {
  Settings settings;
  ConfigurationFaults faults{};  // that are already known; run_train() reports them with those that it finds
  Ranks ranks;                   // join_ranks()
  // Data to evaluate on: source or mix with filters, and operations that replace the default resize and crop. Each
  // sample is evaluated once, with the training batch size; order, weights and batch operations are ignored. Without a
  // source: no evaluation.
  PipelineSpec validation;
  double minutes = 0;                 // 0: no limit
  double epochs = 0;                  // 0: as many as fit in `minutes`
  double evaluate_every = 1;          // epochs; 0: only at the end
  double target = 0;                  // accuracy at which the run ends, 0..1; 0: none. Requires validation data
  double price_per_hour = 0;          // of all machines, for the cost; 0: unknown
  std::filesystem::path trace;        // file for a trace of 20 steps of rank 0; "": none
  std::filesystem::path tensorboard;  // folder for event files of TensorBoard; "": none
  // What is written at each evaluation, every `checkpoint_seconds`, at the end, and when the run is stopped.
  CheckpointTargets checkpoints;
  double checkpoint_seconds = 300;  // 0: not by time
  std::filesystem::path resume;     // checkpoint, folder of checkpoints or weights to start from; "": fresh weights
  std::filesystem::path weights;    // weights to start from, possibly of another number of classes; "": none
  // List of the bad samples of all ranks (quarantine.h); "": none. If a run fails, each rank writes its own list: the
  // first one to this file, rank N to FILE.rank-N.
  std::filesystem::path quarantine;
  // Receives, before the first step, a line about the phases of progressive training, one about images on the device,
  // and one about where checkpoints are written by default or that none are; may be empty.
  std::function<void(const std::string&)> announce;
  // Called when everything is prepared, before the first step; may be empty. Most errors before are those of all ranks.
  std::function<void()> begin;
  // This rank waits for a lost one forever, so that the process has to end. May be empty. Only under MPI.
  LostRank lost_rank;
};

struct TrainResult {
  Settings settings;
  std::string data;  // name of the training data
  TrainHistory history;
  double epochs = 0;  // completed, including those before a resume
  std::int64_t parameters = 0;
  double macs = 0;  // multiply-adds per image, forward
  int ranks = 1;
  ExchangeTimes exchange;  // of rank 0
  std::optional<ResidentImages> resident;
  std::vector<double> evaluated_epochs;  // completed at each evaluation
  // Before the run: opening the data and making the network.
  double preparation_seconds = 0;
  std::string device_name;  // "cpu", "cuda:0 NVIDIA H200"
  double target = 0;        // TrainOptions
  double price_per_hour = 0;
  std::vector<PhaseTimes> phases;           // of progressive training; empty without it
  std::optional<ProgressiveEffect> effect;  // of its schedules
  std::optional<PruneResult> pruning;       // of rank 0; null without
  // Skipped or replaced by the error policy, of training and evaluations. With several ranks, of all on rank 0.
  std::vector<BadSample> bad;
};

// Progress reports epoch, loss and rate; its share is that of the time or step limit.
[[nodiscard]] TrainResult run_train(const TrainOptions& options, const Progress& progress = {},
                                    std::stop_token stop = {});

// Trainer::load_weights(), with a notice about tensors that keep their initial values.
void load_starting_weights(Trainer& trainer, const std::filesystem::path& path);

[[nodiscard]] std::string to_text(const TrainResult& result);
// See "train" in docs/reference/json.md.
[[nodiscard]] std::string to_json(const TrainResult& result);
// Curves of loss and accuracy, and the phases of progressive training. `command`: the command line.
[[nodiscard]] Report report_of(const TrainResult& result, const std::string& command);

}  // namespace unstarve
