#pragma once
// The flags of `unstarve train` that set a field of TrainSettings (train/settings_fields.h) or HostSettings
// (jobs/host/host_settings.h).
//
// Threads: one.

#include <span>
#include <string_view>
#include <vector>

#include "../command.h"
#include "unstarve/jobs/host/host_settings.h"
#include "unstarve/train/settings.h"

namespace unstarve::cli {

// One option per field with a flag, except fields whose paths begin with a word of `left_out`. Their texts live as long
// as the program.
[[nodiscard]] std::vector<Option> train_flags(std::span<const std::string_view> left_out = {});
// Sets the fields whose flags are given. Throws Error(kArgument) with the flag, the value found and the values
// expected; ranges are checked by check_settings().
void apply_train_flags(const Arguments& arguments, TrainSettings& settings);

// The same for host settings.
[[nodiscard]] std::vector<Option> host_flags();
void apply_host_flags(const Arguments& arguments, HostSettings& settings);

}  // namespace unstarve::cli
