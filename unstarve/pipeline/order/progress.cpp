#include "unstarve/pipeline/order/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

void mark(std::vector<bool>& bits, std::uint64_t i) {
  if (i >= bits.size()) bits.resize(i + 1);
  bits[i] = true;
}

}  // namespace

Position position_after(std::span<const RankProgress> ranks, OrderSpec order, const BatchSpec& batch,
                        std::uint64_t samples) {
  if (ranks.empty()) throw Error(ErrorKind::kArgument, "state: found no rank, expected one or more");
  const Position& dealt = ranks[0].dealt;
  order.world = static_cast<int>(ranks.size());
  std::vector<Order> orders;
  std::uint64_t first = kNone;  // place of the first sample that is not used
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankProgress& progress = ranks[rank];
    if (progress.dealt != dealt)
      throw Error(
          ErrorKind::kArgument,
          fmt::format("state: rank {} is in epoch {}, dealt out behind {} samples, rank 0 in epoch {}, behind {}; "
                      "expected states of one epoch",
                      rank, progress.dealt.epoch, progress.dealt.offset, dealt.epoch, dealt.offset));
    order.rank = static_cast<int>(rank);
    orders.push_back(Order(order, batch, samples).rest(dealt.offset, dealt.used));
    const std::uint64_t all = orders[rank].samples_per_epoch();
    if (progress.samples > all || progress.ahead.size() > all - progress.samples)
      throw Error(ErrorKind::kArgument,
                  fmt::format("state: rank {} has used {} samples and {} behind them, but its part of the epoch has {}",
                              rank, progress.samples, progress.ahead.size(), all));
    if (progress.samples < all) first = std::min(first, orders[rank].place_of(progress.samples));
  }
  if (first >= samples) return {dealt.epoch + 1, 0, 0, {}};  // none, or only such as fill up the last batch

  Position position{dealt.epoch, 0, first, {}};
  const auto use = [&](std::uint64_t place) {
    if (place >= first && place < samples) mark(position.used, place - first);
  };
  for (std::size_t i = 0; i < dealt.used.size(); ++i)
    if (dealt.used[i]) use(dealt.offset + i);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankProgress& progress = ranks[rank];
    for (std::uint64_t i = progress.samples; i-- > 0 && orders[rank].place_of(i) > first;)
      use(orders[rank].place_of(i));
    for (std::size_t i = 0; i < progress.ahead.size(); ++i)
      if (progress.ahead[i]) use(orders[rank].place_of(progress.samples + i));
  }
  return position;
}

}  // namespace unstarve
