#include "unstarve/pipeline/order/epoch_shares.h"

#include <algorithm>
#include <iterator>

namespace unstarve {

std::uint64_t EpochShares::samples(std::uint32_t epoch, std::uint64_t whole, std::uint64_t global_size) const {
  const auto after = std::upper_bound(shares_.begin(), shares_.end(), epoch,
                                      [](std::uint32_t e, const EpochShare& share) { return e < share.epoch; });
  if (after == shares_.begin() || std::prev(after)->share >= 1) return whole;
  // 0.29 of 100 batches is slightly less than 29.
  const auto full =
      static_cast<std::uint64_t>(std::prev(after)->share * static_cast<double>(whole / global_size) + 1e-9);
  return std::min(whole, std::max<std::uint64_t>(1, full) * global_size);
}

}  // namespace unstarve
