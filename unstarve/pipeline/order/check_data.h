#pragma once
// Checks before a run that the data has what the spec needs, so that a problem is reported where the pipeline is
// written and not by a batch in the middle of an epoch.
//
// Threads: plain functions. Failure: Error(kInput), and what `check` throws.

#include <functional>
#include <string>

namespace unstarve {

class Dataset;
class SampleSet;
struct PipelineSpec;

// Throws if the records have no labels, unless the spec requests none (source.labels). The message says what the data
// contain instead. Data of a single class are a notice.
void require_labels(const PipelineSpec& spec, const Dataset& dataset);

// Throws if samples differ in size and the spec does not pad them. Compares up to 64 samples spread over the data:
// sizes come from the index or from the headers of the images. Under errors.policy skip or replace, a sample of another
// size is a bad sample and not an error. `check`: see SampleFacts.
void require_one_size(const PipelineSpec& spec, const Dataset& dataset, const SampleSet& samples,
                      const std::function<void()>& check = {});

// Both of the above.
void check_data(const PipelineSpec& spec, const Dataset& dataset, const SampleSet& samples,
                const std::function<void()>& check = {});

}  // namespace unstarve
