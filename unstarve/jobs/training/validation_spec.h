#pragma once
// The pipeline by which a training run evaluates.
//
// Threads: any. Failure: none.

#include "unstarve/jobs/settings/settings.h"

namespace unstarve {

// Evaluates each sample of `given` once: its source or mix, with its operations if it has any, else a resize and a crop
// to the size of the network's input. Batch size, output and execution are those of the training.
[[nodiscard]] PipelineSpec validation_spec(const Settings& settings, const PipelineSpec& given);

// Emits a notice for settings of `given` that evaluation ignores.
void notify_ignored(const PipelineSpec& given);

}  // namespace unstarve
