#pragma once
// Computes the output size of the operations for every sample from the image headers.

#include <functional>
#include <vector>

#include "unstarve/pipeline/order/sample_set.h"

namespace unstarve {

// Returns SampleSet::sizes; empty if not needed (batch.pad.to is not "largest") or if an operation has a fixed output
// size. Reads each record of the set once, in parallel; `check` as in choose_samples(). Precondition: check_spec(spec)
// does not throw.
[[nodiscard]] std::vector<Size> output_sizes(const PipelineSpec& spec, const SampleSet& samples, const Dataset& dataset,
                                             int threads, const std::function<void()>& check = {});

}  // namespace unstarve
