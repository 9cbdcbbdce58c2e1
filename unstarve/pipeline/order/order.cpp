#include "unstarve/pipeline/order/order.h"

#include <algorithm>
#include <string>

#include "unstarve/core/format_error.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

Order::Order(const OrderSpec& spec, const BatchSpec& batch, const OrderBasis& basis)
    : batches_(spec, batch),
      sequence_(spec, batch, basis, batches_.global_size()),
      shares_(basis.shares),
      end_(sequence_.length()) {
  divide();
  if (batches_.count() == 0) {
    const std::uint64_t limit = end_ / world();
    const std::string smaller =
        limit > 0 ? fmt::format("set batch.size (--batch) to at most {}", limit) : std::string("use fewer ranks");
    const std::string ranks = world() > 1 ? fmt::format(" on {} ranks", world()) : "";
    throw argument_error(
        "no full batch: {} samples, batch {}{}; {}, or keep the short last batch (batch.last: keep; in Python "
        "last=\"keep\")",
        end_, batches_.batch_size(), ranks, smaller);
  }
}

Order::Order(const OrderSpec& spec, const BatchSpec& batch, std::uint64_t records)
    : Order(spec, batch, OrderBasis{std::make_shared<SampleSet>(records), {}}) {}

void Order::divide() { batches_.set_samples(end_ - used_.count()); }

Order Order::of_epoch(std::uint32_t epoch) const {
  Order order = *this;
  const std::uint64_t whole = sequence_.length(), samples = shares_.samples(epoch, whole, batches_.global_size());
  if (samples == whole) return order;
  order.end_ = samples;
  order.divide();
  return order;
}

Order Order::remaining(std::uint64_t offset, const std::vector<bool>& used) const {
  Order order = *this;
  order.used_ = UsedSamples(offset, used, end_);
  order.divide();
  return order;
}

std::uint64_t Order::real_samples(std::uint64_t batch) const {
  const std::uint64_t first = batch_position(batch), count = batch_samples(batch);
  return first >= end_ ? 0 : std::min(count, end_ - first);
}

// Positions beyond the end of the epoch are its first samples, so that the last batches of all ranks have equal sizes
// (batch.last: keep, pad).
Sample Order::Epoch::sample(std::uint64_t batch, std::uint64_t index) const {
  return samples_.at(order_->used_.position_of(order_->batch_position(batch) + index) % order_->end_);
}

}  // namespace unstarve
