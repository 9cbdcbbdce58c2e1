#pragma once
// How many samples each epoch has, if early epochs end after a share of their samples.
//
// Threads: immutable.

#include <cstdint>
#include <vector>

#include "unstarve/pipeline/order/position.h"

namespace unstarve {

class EpochShares {
 public:
  // By ascending epochs, the first one 0; empty: whole epochs.
  explicit EpochShares(std::vector<EpochShare> shares) : shares_(std::move(shares)) {}

  [[nodiscard]] const std::vector<EpochShare>& list() const { return shares_; }
  // Samples of epoch `epoch`, of `whole`: full batches of `global_size` samples, at least one, or all.
  [[nodiscard]] std::uint64_t samples(std::uint32_t epoch, std::uint64_t whole, std::uint64_t global_size) const;

 private:
  std::vector<EpochShare> shares_;
};

}  // namespace unstarve
