#pragma once
// How many samples each epoch has, if early epochs end after a share of their samples.
//
// Threads: immutable.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
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

inline std::uint64_t EpochShares::samples(std::uint32_t epoch, std::uint64_t whole, std::uint64_t global_size) const {
  const auto after = std::upper_bound(shares_.begin(), shares_.end(), epoch,
                                      [](std::uint32_t e, const EpochShare& share) { return e < share.epoch; });
  if (after == shares_.begin() || std::prev(after)->share >= 1) return whole;
  // 0.29 of 100 batches is slightly less than 29.
  const auto full =
      static_cast<std::uint64_t>(std::prev(after)->share * static_cast<double>(whole / global_size) + 1e-9);
  return std::min(whole, std::max<std::uint64_t>(1, full) * global_size);
}

}  // namespace unstarve
