#pragma once
// What of a spec can be judged without data.

#include <cstdint>
#include <optional>

#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

// Ranges, operations and their parameters. Throws Error(kArgument) whose message begins with the node
// ("execution.threads: 5000, expected 0 to 1024").
void check_spec(const PipelineSpec& spec);

// The first epoch from which on some image comes out of the operations in another size than in epoch 0, by a schedule;
// none where sizes stay. Precondition: check_spec() has nothing against it.
[[nodiscard]] std::optional<std::uint32_t> size_changes_from(const PipelineSpec& spec);

}  // namespace unstarve
