#pragma once
// Options of packing, which pack and prepare have in common.
//
// Threads: one. Failure: Error(kArgument).

#include <vector>

#include "../command.h"
#include "unstarve/jobs/pack.h"

namespace unstarve::cli {

// What --format may be; the shell completes them.
inline constexpr const char* kPackFormats = "tfrecord webdataset parquet recordio";

// All but --format, which one of them needs and the other does not.
[[nodiscard]] std::vector<Option> packing_options();

// What --format and those say.
[[nodiscard]] PackOptions packing_from(const Arguments& arguments);

}  // namespace unstarve::cli
