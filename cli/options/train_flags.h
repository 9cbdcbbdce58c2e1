#pragma once
// The flags of `unstarve train` that set a field of TrainSettings (train/settings_fields.h) or HostSettings
// (jobs/host/host_settings.h).
//
// Threads: one.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../command.h"
#include "unstarve/core/error.h"
#include "unstarve/jobs/host/host_settings.h"
#include "unstarve/jobs/training/configuration_faults.h"
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

// Adds a fault for every given flag that has no effect with these settings (train/settings_in_use.h).
void check_flags_in_use(const Arguments& arguments, const TrainSettings& settings, ConfigurationFaults& faults);

// A message whose lines begin with settings, as "train.optimiser.momentum: found 7". A setting that is given by a flag
// is named by the flag: "--momentum: found 7".
[[nodiscard]] std::string with_flag_names(const Arguments& arguments, const std::string& message);
// Runs `job`; an Error has such a message.
template <class Job>
auto named_by_flags(const Arguments& arguments, Job&& job) {
  try {
    return job();
  } catch (const Error& error) {
    throw Error(error.kind(), with_flag_names(arguments, error.what()));
  }
}

}  // namespace unstarve::cli
