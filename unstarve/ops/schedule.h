#pragma once
// Parameters of operations that change from epoch to epoch: progressive resizing, magnitudes that grow.
//
//   size: {schedule: {0: 128, 10: 160, 20: 224}}                          128, from epoch 10 on 160, from 20 on 224
//   magnitude: {schedule: {0: 4, 30: 12}, between: linear}                a ramp, 12 from epoch 30 on
//   size: {schedule: {0: 160, 16: 224}, between: linear, multiple: 32}    160, 192 and 224
//
// What an operation is in an epoch is a function of the epoch alone, so that every rank and a resumed run agree.
// Threads: pure. Failure: Error(kArgument).

#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/ops/base/op_value.h"

namespace unstarve {

inline constexpr std::uint32_t kMostScheduledEpoch = 10'000;

[[nodiscard]] bool follows_schedule(const OpSpec& spec);
// Throws for a schedule that does not begin at epoch 0, goes beyond kMostScheduledEpoch, or has points of different
// counts of numbers with something between them.
void check_schedules(const OpSpec& spec);
// The operation as it is in an epoch, without schedules. Between two points of a linear schedule a value lies on the
// line, rounded to `multiple` where it is given, else to whole numbers where the operation takes no others.
[[nodiscard]] OpSpec at_epoch(const OpSpec& spec, std::uint32_t epoch);
// The epochs from which on any of them is another one than in the epoch before, ascending; epoch 0 is not among them.
[[nodiscard]] std::vector<std::uint32_t> changing_epochs(std::span<const OpSpec> specs);

}  // namespace unstarve
