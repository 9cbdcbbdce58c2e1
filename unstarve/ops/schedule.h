#pragma once
// Parameters of operations that change from epoch to epoch, e.g. progressive resizing or growing magnitudes.
//
//   size: {schedule: {0: 128, 10: 160, 20: 224}}                          128, from epoch 10 on 160, from 20 on 224
//   magnitude: {schedule: {0: 4, 30: 12}, between: linear}                a ramp, 12 from epoch 30 on
//   size: {schedule: {0: 160, 16: 224}, between: linear, multiple: 32}    160, 192 and 224
//
// The value depends only on the epoch, so that all ranks and resumed runs agree.
// Threads: pure. Failure: Error(kArgument).

#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/ops/base/op_value.h"

namespace unstarve {

inline constexpr std::uint32_t kMaxScheduledEpoch = 10'000;

[[nodiscard]] bool follows_schedule(const OpSpec& spec);
// Throws for a schedule that does not start at epoch 0, goes beyond kMaxScheduledEpoch, or interpolates between points
// with different counts of numbers.
void check_schedules(const OpSpec& spec);
// The operation with its values for an epoch, without schedules. Interpolated values are rounded to `multiple` if
// given, otherwise to integers if the operation accepts only integers.
[[nodiscard]] OpSpec at_epoch(const OpSpec& spec, std::uint32_t epoch);
// The epochs, ascending and without 0, in which any value differs from that of the epoch before.
[[nodiscard]] std::vector<std::uint32_t> changing_epochs(std::span<const OpSpec> specs);

}  // namespace unstarve
