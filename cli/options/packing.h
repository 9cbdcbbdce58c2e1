#pragma once
// The packing options of pack and prepare.
//
// Threads: one. Failure: Error(kArgument).

#include <vector>

#include "../command.h"
#include "unstarve/jobs/data/pack.h"

namespace unstarve::cli {

// Values of --format; the shell completes them.
inline constexpr const char* kPackFormats = "tfrecord webdataset parquet recordio";

// All packing options but --format, which pack requires and prepare does not.
[[nodiscard]] std::vector<Option> packing_options();

// The values of --format and packing_options(). Throws Error(kArgument).
[[nodiscard]] PackOptions packing_from(const Arguments& arguments);

}  // namespace unstarve::cli
