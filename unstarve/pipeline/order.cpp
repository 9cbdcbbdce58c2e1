#include "unstarve/pipeline/order.h"

#include <algorithm>
#include <bit>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/core/random.h"

namespace unstarve {
namespace {

// The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014): every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// Streams of Random are named by (seed, epoch, sample, operation); this one is no sample's and no operation's.
constexpr std::uint64_t kOrderSample = ~std::uint64_t{0};
constexpr std::uint32_t kOrderOperation = 0xfff;

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t seed, std::uint32_t epoch) : size_(size) {
  const int bits = std::max(2, static_cast<int>(std::bit_width(size - 1)));
  low_bits_ = bits / 2;
  high_bits_ = bits - low_bits_;
  Random random(seed, epoch, kOrderSample, kOrderOperation);
  for (auto& key : keys_) key = (std::uint64_t{random.bits()} << 32) | random.bits();
}

// An unbalanced Feistel network: even rounds change the high half by the low one, odd rounds the other way round.
std::uint64_t Permutation::encrypt(std::uint64_t value) const {
  const std::uint64_t low_mask = (std::uint64_t{1} << low_bits_) - 1;
  const std::uint64_t high_mask = (std::uint64_t{1} << high_bits_) - 1;
  std::uint64_t low = value & low_mask, high = value >> low_bits_;
  for (int round = 0; round < kRounds; round += 2) {
    high ^= mix(low + keys_[static_cast<std::size_t>(round)]) & high_mask;
    low ^= mix(high + keys_[static_cast<std::size_t>(round + 1)]) & low_mask;
  }
  return (high << low_bits_) | low;
}

std::uint64_t Permutation::operator()(std::uint64_t position) const {
  do {
    position = encrypt(position);
  } while (position >= size_);
  return position;
}

Order::Order(const OrderSpec& spec, const BatchSpec& batch, std::uint64_t samples)
    : spec_(spec), batch_(static_cast<std::uint64_t>(batch.size)), drop_last_(batch.drop_last), samples_(samples) {
  if (batch.size < 1)
    throw Error(ErrorKind::kArgument, "batch size " + std::to_string(batch.size) + ": expected 1 or more");
  if (spec.world < 1 || spec.rank < 0 || spec.rank >= spec.world)
    throw Error(ErrorKind::kArgument, "rank " + std::to_string(spec.rank) + " of world " + std::to_string(spec.world) +
                                          ": expected 0 <= rank < world");
  if (samples == 0) throw Error(ErrorKind::kInput, "the data set holds no samples");
  count();
  if (batches_ == 0)
    throw Error(ErrorKind::kArgument,
                "no full batch: " + std::to_string(samples) + " samples, batch " + std::to_string(batch_) + " on " +
                    std::to_string(spec.world) +
                    " rank(s); use a smaller batch or keep the last, short one (drop_last: false)");
}

Order Order::rest(std::uint64_t offset, const std::vector<bool>& used) const {
  Order rest = *this;
  rest.offset_ = std::min(offset, samples_);
  auto unused = std::make_shared<std::vector<std::uint64_t>>();
  for (std::size_t i = 0; i < used.size() && rest.offset_ + i < samples_; ++i) {
    if (used[i])
      ++rest.used_;
    else
      unused->push_back(rest.offset_ + i);
  }
  if (rest.used_ > 0) rest.unused_ = std::move(unused);
  rest.count();
  return rest;
}

void Order::count() {
  const auto world = static_cast<std::uint64_t>(spec_.world);
  const std::uint64_t global = batch_ * world, left = samples_ - offset_ - used_, over = left % global;
  batches_ = left / global;
  last_samples_ = batch_;
  if (!drop_last_ && over > 0) {
    ++batches_;
    last_samples_ = (over + world - 1) / world;
  }
}

std::uint64_t Order::batch_samples(std::uint64_t batch) const { return batch + 1 == batches_ ? last_samples_ : batch_; }

Order::Epoch::Epoch(const Order& order, std::uint32_t epoch)
    : order_(&order), permutation_(order.samples_, order.spec_.seed, epoch) {}

std::uint64_t Order::place(std::uint64_t batch) const {
  return offset_ + used_ + batch * batch_ * static_cast<std::uint64_t>(spec_.world) +
         static_cast<std::uint64_t>(spec_.rank) * batch_samples(batch);
}

std::uint64_t Order::Epoch::id(std::uint64_t batch, std::uint64_t index) const {
  const std::uint64_t position = order_->behind_holes(order_->place(batch) + index) % order_->samples_;
  return order_->spec_.shuffle ? permutation_(position) : position;
}

std::uint64_t Order::Epoch::id_at(std::uint64_t place) const {
  return id(place / order_->batch_, place % order_->batch_);
}

}  // namespace unstarve
