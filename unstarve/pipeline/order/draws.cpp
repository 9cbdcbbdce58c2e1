#include "unstarve/pipeline/order/draws.h"

#include <algorithm>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/pipeline/order/permutation.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {
namespace {

// Positions of a run are counted in 64 bits; a longer epoch would leave no room for further epochs.
constexpr std::uint64_t kMostLength = std::uint64_t{1} << 62;
// Separates the permutations within the mixture's blocks from those of the groups.
constexpr std::uint64_t kMixtureTweak = tweak_of(0, ~std::uint64_t{0});
constexpr std::uint64_t kShareTweak = tweak_of(2, 0);

}  // namespace

Draws::Draws(const OrderSpec& spec, std::shared_ptr<const SampleSet> set, std::vector<MixtureStretch> stretches)
    : shuffle_(spec.shuffle),
      seed_(spec.seed),
      window_(spec.window),
      set_(std::move(set)),
      mixture_keys_(spec.seed, 0) {
  const std::uint64_t pass = spec.epoch > 0 ? spec.epoch : set_->drawn();
  if (__builtin_mul_overflow(pass, spec.repeat, &length_) || length_ > kMostLength)
    throw argument_error("order.repeat: {} times {} samples; expected at most 2^62 in an epoch", spec.repeat, pass);
  if (!set_->shares().empty()) {
    if (pass > Shares::kTotal) throw argument_error("order.epoch: {} weighted samples; expected at most 2^52", pass);
    pass_ = pass;
    occurrences_ = set_->shares().most_occurrences(pass);
    return;
  }
  plain_ = set_->everything() && set_->groups() == 1 && length_ == set_->size() && !(shuffle_ && window_ > 0);
  const std::vector<double>& weights = set_->weights();
  if (weights.empty()) return;
  // Epochs before the first stretch (set_epoch may request them) use the present weights.
  if (stretches.empty() || stretches.front().from > 0)
    stretches.insert(stretches.begin(), {0, std::vector<std::uint64_t>(weights.size()), weights});
  for (MixtureStretch& stretch : stretches) {
    if (stretch.weights.size() != weights.size() || stretch.given.size() != weights.size())
      throw argument_error("the run used {} sources, this loader has {}; expected the same sources",
                           stretch.weights.size(), weights.size());
    for (std::size_t group = 0; group < weights.size(); ++group)
      if (stretch.weights[group] > 0 && set_->group_size(group) == 0)
        throw argument_error("source {} has a weight but no samples; expected weight 0", group);
    stretches_.push_back({stretch.from, std::move(stretch.given), Mixture(stretch.weights)});
  }
}

std::size_t Draws::assign(std::uint64_t& number) const {
  if (stretches_.empty()) return 0;
  std::size_t last = stretches_.size() - 1;
  while (stretches_[last].from > number) --last;
  const Stretch& stretch = stretches_[last];
  const Mixture::Draw draw =
      stretch.mixture.at(mixture_keys_, number - stretch.from, tweak_of(kMixtureTweak, stretch.from));
  number = stretch.given[draw.group] + draw.count;
  return draw.group;
}

Sample Draws::by_share(const PermutationKeys& epoch_keys, std::uint32_t epoch, std::uint64_t number) const {
  const auto pass = static_cast<std::uint32_t>(number / pass_);
  const PermutationKeys keys = pass == epoch ? epoch_keys : PermutationKeys(seed_, pass);
  const std::uint64_t strip = keys.permute(pass_, number % pass_, 0);
  const Shares::Draw draw = set_->shares().at(strip, pass_, keys.below(Shares::offsets(pass_), kShareTweak));
  return {set_->id(draw.sample), static_cast<std::uint32_t>(pass * occurrences_ + draw.occurrence)};
}

Sample Draws::at(const PermutationKeys& epoch_keys, std::uint32_t epoch, std::uint64_t position) const {
  std::uint64_t number = epoch * length_ + position;
  if (pass_ > 0) return by_share(epoch_keys, epoch, number);
  const std::size_t group = assign(number);
  const std::uint64_t size = set_->group_size(group);
  const auto pass = static_cast<std::uint32_t>(number / size);
  std::uint64_t index = number % size;
  if (shuffle_) {
    const PermutationKeys keys = pass == epoch ? epoch_keys : PermutationKeys(seed_, pass);
    const std::uint64_t tweak = group == 0 ? 0 : tweak_of(0, group);
    index = window_ > 0 ? windowed(keys, size, window_, index, tweak) : keys.permute(size, index, tweak);
  }
  return {set_->id(set_->group_begin(group) + index), pass};
}

}  // namespace unstarve
