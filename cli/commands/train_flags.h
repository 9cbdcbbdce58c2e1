#pragma once
// The flags of `unstarve train` that set a field of TrainSettings, made from train/settings_fields.h.
//
// Threads: one.

#include <vector>

#include "../command.h"
#include "unstarve/train/settings.h"

namespace unstarve::cli {

// One option per field with a flag. Their texts live as long as the program.
[[nodiscard]] std::vector<Option> train_flags();
// Sets the fields whose flags are given. Throws Error(kArgument) with the flag, the value found and the values
// expected; ranges are checked by check_settings().
void apply_train_flags(const Arguments& arguments, TrainSettings& settings);

}  // namespace unstarve::cli
