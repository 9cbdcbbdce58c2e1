#pragma once
// How far one rank's run has come, and where a run by other ranks goes on.
//
// In exact order a rank's progress is a number of samples; in relaxed order some behind them are used already. The
// progresses of all ranks together give the Position of a run by any number of ranks, in batches of any size.
//
// Threads: plain functions of plain data. Failure: Error(kArgument). Cost: constant in the data set; of the order of
// the window per rank.

#include <cstdint>
#include <span>
#include <vector>

#include "unstarve/pipeline/order/order.h"

namespace unstarve {

struct RankProgress {
  Position dealt;             // how the epoch was dealt out to the ranks: its batch is 0
  std::uint64_t samples = 0;  // of this rank in this dealing, used without a gap
  // Bit i: whether the rank's sample `samples` + i is used as well; at most as long as the window of relaxed order.
  std::vector<bool> ahead{};
  friend bool operator==(const RankProgress&, const RankProgress&) = default;
};

// Where the epoch goes on, or the next one begins, when the ranks 0, 1, ... of a world have come so far; `order` and
// `batch` as theirs, whatever its rank and world. Throws when they are not of one dealing.
[[nodiscard]] Position position_after(std::span<const RankProgress> ranks, OrderSpec order, const BatchSpec& batch,
                                      std::uint64_t samples);

}  // namespace unstarve
