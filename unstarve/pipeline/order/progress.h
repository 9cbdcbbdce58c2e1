#pragma once
// The progress of each rank, and the resume position that follows from the progress of all ranks.
//
// In exact order the progress of a rank is a number of samples. In relaxed order some later samples are used as well.
// The resume position is valid for any number of ranks and any batch size.
//
// Failure: Error(kArgument). Cost: independent of the dataset; proportional to the window per rank.

#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/pipeline/order/order.h"

namespace unstarve {

struct BatchSpec;
struct OrderSpec;

struct RankProgress {
  EpochPosition start;        // position from which the epoch is distributed to these ranks; its batch is 0
  std::uint64_t samples = 0;  // samples of this rank used since `start` without a gap
  // Bit i: sample `samples` + i of this rank is used as well. At most the window of relaxed order.
  std::vector<bool> used{};
  friend bool operator==(const RankProgress&, const RankProgress&) = default;
};

// The resume position after the progress of ranks 0, 1, ...: in the same epoch, or at the start of the next one.
// `order` and `batch` are those of the ranks; rank and world in `order` are ignored. Throws if the ranks have different
// starts.
[[nodiscard]] EpochPosition position_after(std::span<const RankProgress> ranks, OrderSpec order, const BatchSpec& batch,
                                           std::uint64_t samples);

}  // namespace unstarve
