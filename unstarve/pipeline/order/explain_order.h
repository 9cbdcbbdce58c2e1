#pragma once
// Describes samples and order of a pipeline as text, for explain().

#include <cstdint>
#include <string>

#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

// Lines in the format of explain() (plan/plan.h). `length`: samples per epoch of all ranks.
[[nodiscard]] std::string explain_order(const PipelineSpec& spec, const SampleSet& samples, std::uint64_t length);

}  // namespace unstarve
