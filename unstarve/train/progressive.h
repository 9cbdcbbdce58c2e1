#pragma once
// Progressive training: the first epochs of a run use smaller images, weaker augmentation or fewer samples, and the
// last ones the full values.
//
//   full     |             ________         the progress of epoch e of E is e / (E - 1), from 0 to 1, so that the last
//            |           /                  epoch always has the full values
//   initial  |__________/
//            0         a    b     1         a, b: the ramp
//
// Between a and b the value rises linearly:
//
//   image size     rounded to a multiple (ProgressiveSettings::multiple), but not beyond its ends
//   augmentation   the strength of ops/strength.h, rounded to 0.05
//   samples        the share of the samples of an epoch, rounded to 0.05: the first ones in its order, which is another
//                  random part in each epoch (OrderBasis::shares)
//
// Everything depends only on settings, epoch and number of epochs: ranks agree, and a resumed run continues with the
// same values. A run of one epoch has the full values. Threads: pure.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/size.h"
#include "unstarve/ops/base/op_value.h"
#include "unstarve/train/settings.h"

namespace unstarve {

// What differs between epochs.
struct EpochValues {
  int image_size = 0;
  double augmentation = 1;
  double samples = 1;
  friend bool operator==(const EpochValues&, const EpochValues&) = default;
};

// Consecutive epochs with the same values.
struct TrainPhase {
  std::uint32_t epoch = 0;  // the first
  std::uint32_t epochs = 0;
  EpochValues values;
  friend bool operator==(const TrainPhase&, const TrainPhase&) = default;
};

// Preconditions: check_settings(), epoch < epochs.
[[nodiscard]] EpochValues values_at(const TrainSettings& settings, std::uint32_t epoch, std::uint32_t epochs);
// The phases of a run of `epochs`, in order; one if nothing changes.
[[nodiscard]] std::vector<TrainPhase> phases_of(const TrainSettings& settings, std::uint32_t epochs);
// "epochs 3 to 5" or "epoch 6"; epochs are counted from 1.
[[nodiscard]] std::string epochs_text(const TrainPhase& phase);
// "epochs 3 to 5: 128 px, augmentation 0.5, 50 % of the samples"
[[nodiscard]] std::string to_text(const TrainPhase& phase);

// The operations with a schedule (ops/schedule.h) of every parameter that changes.
//   image size     the parameters `size`, `max_size` and `padding` of all operations are scaled; if no operation with a
//                  `size` resamples, a resize is appended, which leaves images of the full size unchanged
//   augmentation   at_strength()
[[nodiscard]] std::vector<OpSpec> progressive_operations(std::span<const OpSpec> operations, const EpochValues& full,
                                                         std::span<const TrainPhase> phases);
// The same for operations on batches, whose strength changes.
[[nodiscard]] std::vector<OpSpec> progressive_batch_operations(std::span<const OpSpec> operations,
                                                               std::span<const TrainPhase> phases);
// Throws Error(kArgument) unless images of `input` have the size of each phase after `operations`, which are the result
// of progressive_operations().
void check_sizes(std::span<const OpSpec> operations, std::span<const TrainPhase> phases, Size input);

}  // namespace unstarve
