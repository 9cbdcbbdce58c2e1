#pragma once
// The datasets of a training run, the checks whether they can train a network, and the pipeline of evaluations.
//
// Threads: any. Failure: as stated; faults of the data are collected in ConfigurationFaults.

#include <memory>
#include <stop_token>

#include "unstarve/jobs/settings/settings.h"
#include "unstarve/jobs/training/configuration_faults.h"

namespace unstarve {

class Dataset;  // storage/dataset/dataset.h

[[nodiscard]] bool has_source(const PipelineSpec& spec);

// Throws Error(kInput) or Error(kArgument) unless the data has the labels that training needs.
void require_labels_to_train(const PipelineSpec& spec, const Dataset& dataset);

struct TrainData {
  std::shared_ptr<const Dataset> training, validation;  // null: none, or it cannot be opened
};

struct TrainDataSpecs {
  const PipelineSpec& training;
  const PipelineSpec& validation;  // without a source: none
  int classes = 0;                 // of the network
};

// Opens both datasets. What is missing in them, and what does not fit, is added to `faults`. Data without a source are
// not opened if there are faults already. Listing files or reading an index may take long: Error(kCancelled) after a
// request to stop.
[[nodiscard]] TrainData open_train_data(const TrainDataSpecs& specs, std::stop_token stop, ConfigurationFaults& faults);

// Evaluates each sample of `given` once: its source or mix, with its operations if it has any, else a resize and a crop
// to the size of the network's input. Batch size, output and execution are those of the training, as is what happens to
// bad samples, which are skipped instead of replaced.
[[nodiscard]] PipelineSpec validation_spec(const Settings& settings, const PipelineSpec& given);

// Emits a notice for settings of `given` that evaluation ignores.
void notify_ignored(const PipelineSpec& given);

}  // namespace unstarve
