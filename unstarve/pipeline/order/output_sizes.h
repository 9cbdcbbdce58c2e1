#pragma once
// What comes out of the operations of a pipeline, of every sample, from the headers of images.

#include <functional>
#include <vector>

#include "unstarve/pipeline/order/sample_set.h"

namespace unstarve {

// As SampleSet::sizes; empty where nobody needs it (batch.pad.to is not "largest") or an operation gives all samples
// one size. Reads each record of the set once, in parallel and with `check` as choose_samples(). Operations as
// check_spec() let them pass.
[[nodiscard]] std::vector<Size> output_sizes(const PipelineSpec& spec, const SampleSet& samples, const Dataset& dataset,
                                             int threads, const std::function<void()>& check = {});

}  // namespace unstarve
