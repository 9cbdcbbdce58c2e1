#include "unstarve/pipeline/order/rank_batches.h"

#include <string>

#include "unstarve/core/format_error.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {

RankBatches::RankBatches(const OrderSpec& order, const BatchSpec& batch)
    : batch_size_(static_cast<std::uint64_t>(batch.size)), drop_last_(batch.last == LastBatch::kDrop) {
  if (batch.size < 1) throw argument_error("batch size {}: expected 1 or more", batch.size);
  if (order.world < 1 || order.rank < 0 || order.rank >= order.world)
    throw argument_error("rank {} of world {}: expected 0 <= rank < world", order.rank, order.world);
  rank_ = static_cast<std::uint64_t>(order.rank);
  world_ = static_cast<std::uint64_t>(order.world);
}

void RankBatches::set_samples(std::uint64_t samples) {
  const std::uint64_t over = samples % global_size();
  batches_ = samples / global_size();
  last_samples_ = batch_size_;
  if (!drop_last_ && over > 0) {
    ++batches_;
    last_samples_ = (over + world_ - 1) / world_;
  }
}

}  // namespace unstarve
