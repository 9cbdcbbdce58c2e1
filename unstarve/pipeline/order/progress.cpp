#include "unstarve/pipeline/order/progress.h"

#include <algorithm>
#include <limits>

#include "unstarve/core/format_error.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

void mark(std::vector<bool>& bits, std::uint64_t i) {
  if (i >= bits.size()) bits.resize(i + 1);
  bits[i] = true;
}

}  // namespace

EpochPosition position_after(std::span<const RankProgress> ranks, OrderSpec order, const BatchSpec& batch,
                             std::uint64_t samples) {
  if (ranks.empty()) throw argument_error("state: found no ranks; expected 1 or more");
  const EpochPosition& start = ranks[0].start;
  order.world = static_cast<int>(ranks.size());
  std::vector<Order> orders;
  std::uint64_t first = kNone;  // position of the first unused sample
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankProgress& progress = ranks[rank];
    if (progress.start != start)
      throw argument_error(
          "state: rank {} is in epoch {} and started after {} samples, rank 0 in epoch {} after {}; expected states of "
          "one run and epoch",
          rank, progress.start.epoch, progress.start.offset, start.epoch, start.offset);
    order.rank = static_cast<int>(rank);
    orders.push_back(Order(order, batch, samples).remaining(start.offset, start.used));
    const std::uint64_t all = orders[rank].samples_per_epoch();
    if (progress.samples > all || progress.used.size() > all - progress.samples)
      throw argument_error("state: rank {} has used {} samples and {} later ones, but its part of the epoch has {}",
                           rank, progress.samples, progress.used.size(), all);
    if (progress.samples < all) first = std::min(first, orders[rank].position_of(progress.samples));
  }
  if (first >= samples) return {start.epoch + 1, 0, 0, {}};  // no sample is left, except fillers of the last batch

  EpochPosition position{start.epoch, 0, first, {}};
  const auto use = [&](std::uint64_t sample) {
    if (sample >= first && sample < samples) mark(position.used, sample - first);
  };
  for (std::size_t i = 0; i < start.used.size(); ++i)
    if (start.used[i]) use(start.offset + i);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankProgress& progress = ranks[rank];
    for (std::uint64_t i = progress.samples; i-- > 0 && orders[rank].position_of(i) > first;)
      use(orders[rank].position_of(i));
    for (std::size_t i = 0; i < progress.used.size(); ++i)
      if (progress.used[i]) use(orders[rank].position_of(progress.samples + i));
  }
  return position;
}

}  // namespace unstarve
