#pragma once
// Checks of a spec that need no data.

#include <cstdint>
#include <optional>

#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

// Checks ranges, operations and their parameters. Throws Error(kArgument) whose message begins with the node
// ("execution.threads: 5000; expected 0 to 1024").
void check_spec(const PipelineSpec& spec);

// The first epoch in which a schedule makes the operations return another image size than in epoch 0; none if sizes
// never change. Precondition: check_spec(spec) does not throw.
[[nodiscard]] std::optional<std::uint32_t> size_changes_from(const PipelineSpec& spec);

}  // namespace unstarve
