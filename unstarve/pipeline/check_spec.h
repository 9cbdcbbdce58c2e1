#pragma once
// What of a spec can be judged without data.

#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

// Ranges, operations and their parameters. Throws Error(kArgument) whose message begins with the node
// ("execution.threads: 5000, expected 0 to 1024").
void check_spec(const PipelineSpec& spec);

// Whether some operation whose output has a size of its own follows a schedule: batches may change their shape from
// epoch to epoch. Precondition: check_spec() has nothing against it.
[[nodiscard]] bool size_follows_schedule(const PipelineSpec& spec);

}  // namespace unstarve
