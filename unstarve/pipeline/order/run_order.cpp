#include "unstarve/pipeline/order/run_order.h"

#include <string>

#include "unstarve/core/error.h"

namespace unstarve {

RunOrder::RunOrder(const Order& order, const EpochPosition& start, std::uint32_t epochs)
    : order_(order),
      first_(order.remaining(start.offset, start.used)),
      start_(start),
      first_epoch_(start.epoch),
      epochs_(epochs) {
  if ((start_.offset > 0 || !start_.used.empty()) && start_.batch >= first_.batches_per_epoch()) {
    start_ = {start.epoch + 1, 0, 0, {}};
    first_ = order_;
  }
  if (start_.batch >= first_.batches_per_epoch())
    throw Error(ErrorKind::kArgument, "start at batch " + std::to_string(start_.batch) + ": expected less than the " +
                                          std::to_string(first_.batches_per_epoch()) + " batches of an epoch");
  skipped_ = first_.rank_samples_before(start_.batch);
  first_samples_ = first_.samples_per_epoch() - skipped_;
}

std::uint64_t RunOrder::samples() const {
  if (epochs_ == 0) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t epochs =
      std::uint64_t{first_epoch_} + epochs_ - start_.epoch;  // remaining epochs including the first
  return epochs == 0 ? 0 : first_samples_ + (epochs - 1) * order_.samples_per_epoch();
}

std::uint64_t RunOrder::number(std::uint32_t epoch, std::uint64_t batch, std::uint64_t index) const {
  const std::uint64_t sample = order_.rank_samples_before(batch) + index;
  return epoch == start_.epoch ? sample - skipped_
                               : first_samples_ + (epoch - start_.epoch - 1) * order_.samples_per_epoch() + sample;
}

RunOrder::EpochSample RunOrder::epoch_sample(std::uint64_t number) const {
  if (number < first_samples_) return {start_.epoch, number + skipped_};
  const std::uint64_t later = number - first_samples_;
  return {static_cast<std::uint32_t>(start_.epoch + 1 + later / order_.samples_per_epoch()),
          later % order_.samples_per_epoch()};
}

}  // namespace unstarve
