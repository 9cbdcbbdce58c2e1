#include "unstarve/pipeline/order/run_order.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "unstarve/core/format_error.h"

namespace unstarve {

RunOrder::RunOrder(const Order& order, const EpochPosition& start, std::uint32_t epochs)
    : first_(order.of_epoch(start.epoch).remaining(start.offset, start.used)),
      start_(start),
      first_epoch_(start.epoch),
      epochs_(epochs) {
  if ((start_.offset > 0 || !start_.used.empty()) && start_.batch >= first_.batches_per_epoch()) {
    start_ = {start.epoch + 1, 0, 0, {}};
    first_ = order.of_epoch(start_.epoch);
  }
  if (start_.batch >= first_.batches_per_epoch())
    throw argument_error("start at batch {}: expected less than the {} batches of an epoch", start_.batch,
                         first_.batches_per_epoch());
  skipped_ = first_.rank_samples_before(start_.batch);
  first_samples_ = first_.samples_per_epoch() - skipped_;
  stretches_.push_back({start_.epoch + 1, order.of_epoch(start_.epoch + 1), first_samples_});
  for (const EpochShare& share : order.shares()) {
    const Stretch& last = stretches_.back();
    if (share.epoch <= last.epoch) continue;
    const std::uint64_t samples = (share.epoch - last.epoch) * last.order.samples_per_epoch();
    stretches_.push_back({share.epoch, order.of_epoch(share.epoch), last.number + samples});
  }
}

const RunOrder::Stretch& RunOrder::stretch_of(std::uint32_t epoch) const {
  const auto after = std::upper_bound(stretches_.begin() + 1, stretches_.end(), epoch,
                                      [](std::uint32_t e, const Stretch& stretch) { return e < stretch.epoch; });
  return *std::prev(after);
}

RunBatch RunOrder::batch(std::uint32_t epoch, std::uint64_t index) const {
  const Order& order = of_epoch(epoch);
  return {epoch, index, index + 1 == order.batches_per_epoch(), static_cast<std::size_t>(order.batch_samples(index)),
          static_cast<std::size_t>(order.real_samples(index))};
}

std::uint64_t RunOrder::samples() const {
  if (epochs_ == 0) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t end = std::uint64_t{first_epoch_} + epochs_;  // the epoch after the last one
  if (end == start_.epoch) return 0;
  const Stretch& last = stretch_of(static_cast<std::uint32_t>(end));
  return last.number + (end - last.epoch) * last.order.samples_per_epoch();
}

std::uint64_t RunOrder::number(std::uint32_t epoch, std::uint64_t batch, std::uint64_t index) const {
  const std::uint64_t sample = first_.rank_samples_before(batch) + index;
  if (epoch == start_.epoch) return sample - skipped_;
  const Stretch& stretch = stretch_of(epoch);
  return stretch.number + (epoch - stretch.epoch) * stretch.order.samples_per_epoch() + sample;
}

RunOrder::EpochSample RunOrder::epoch_sample(std::uint64_t number) const {
  if (number < first_samples_) return {start_.epoch, number + skipped_};
  const auto after = std::upper_bound(stretches_.begin() + 1, stretches_.end(), number,
                                      [](std::uint64_t n, const Stretch& stretch) { return n < stretch.number; });
  const Stretch& stretch = *std::prev(after);
  const std::uint64_t later = number - stretch.number, samples = stretch.order.samples_per_epoch();
  return {static_cast<std::uint32_t>(stretch.epoch + later / samples), later % samples};
}

}  // namespace unstarve
