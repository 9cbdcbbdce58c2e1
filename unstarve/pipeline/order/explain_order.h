#pragma once
// What explain() says of which sample comes when.

#include <cstdint>
#include <string>

#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

// Lines of text, as plan.h's explain(). `length`: samples of an epoch of all ranks.
[[nodiscard]] std::string explain_order(const PipelineSpec& spec, const SampleSet& samples, std::uint64_t length);

}  // namespace unstarve
