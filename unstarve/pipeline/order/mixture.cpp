#include "unstarve/pipeline/order/mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

// Shortest block. Short blocks keep every batch close to the weights; shorter ones would make groups alternate visibly.
constexpr double kMinBlock = 64;
// If no block length represents the weights exactly: the shortest block, which keeps shares within a thousandth, ...
constexpr double kMinRoundedBlock = 1000;
// ... the smallest number of samples of the smallest group, which keeps its share within a tenth, ...
constexpr double kMinRoundedQuota = 10;
// ... and the number of block lengths to try.
constexpr std::uint64_t kLengths = 4096;
constexpr double kMinShare = 1e-6;
// Rounding error below which a block is considered exact.
constexpr double kExact = 1e-12;

std::vector<double> shares_of(std::span<const double> weights) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0)
      throw argument_error("weight {}: {}; expected 0 or more", i, weights[i]);
    sum += weights[i];
  }
  if (sum == 0) throw argument_error("all weights are 0; expected at least one above 0");
  if (!std::isfinite(sum)) throw argument_error("the sum of the weights is infinite; expected smaller weights");
  std::vector<double> shares(weights.begin(), weights.end());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    shares[i] /= sum;
    if (shares[i] > 0 && shares[i] < kMinShare)
      throw argument_error("weight {}: {}; expected 0 or at least a millionth of the sum", i, weights[i]);
  }
  return shares;
}

// The largest relative rounding error of a quota in a block of `length`. Stops early once the error reaches `enough`.
double rounding(std::span<const double> shares, std::uint64_t length, double enough) {
  double largest = 0;
  for (const double share : shares) {
    const double exact = share * static_cast<double>(length);
    largest = std::max(largest, std::abs(exact - std::round(exact)) / static_cast<double>(length));
    if (largest >= enough) break;
  }
  return largest;
}

// The block length with the smallest rounding error among `lengths` lengths from `shortest` on.
std::uint64_t best_length(std::span<const double> shares, double shortest, std::uint64_t lengths) {
  const auto first = static_cast<std::uint64_t>(std::ceil(shortest));
  std::uint64_t best = first;
  double best_rounding = rounding(shares, first, 1);
  for (std::uint64_t length = first + 1; length < first + lengths && best_rounding > kExact; ++length) {
    const double candidate = rounding(shares, length, best_rounding);
    if (candidate < best_rounding) {
      best = length;
      best_rounding = candidate;
    }
  }
  return best;
}

std::uint64_t block_for(std::span<const double> shares) {
  double smallest = 1;
  for (const double share : shares)
    if (share > 0) smallest = std::min(smallest, share);
  // At least one sample of the smallest group; 1e-6 tolerates the rounding of its share.
  const std::uint64_t exact = best_length(shares, std::max(kMinBlock, 1 / smallest - 1e-6), kLengths);
  if (rounding(shares, exact, 1) <= kExact) return exact;
  return best_length(shares, std::max(kMinRoundedBlock, kMinRoundedQuota / smallest), kLengths);
}

std::vector<std::uint64_t> largest_remainders(std::span<const double> shares, std::uint64_t length) {
  std::vector<std::uint64_t> quotas;
  std::vector<double> remainders;
  std::uint64_t left = length;
  for (const double share : shares) {
    // Rounding errors must not reduce a whole quota by one.
    const double exact = share * static_cast<double>(length);
    const auto quota = std::min(static_cast<std::uint64_t>(exact + 1e-6), left);
    quotas.push_back(quota);
    remainders.push_back(exact - static_cast<double>(quota));
    left -= quota;
  }
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return remainders[a] > remainders[b]; });
  for (std::size_t i = 0; left > 0; i = (i + 1) % order.size()) {
    if (shares[order[i]] == 0) continue;
    ++quotas[order[i]];
    --left;
  }
  return quotas;
}

}  // namespace

Mixture::Mixture(std::span<const double> weights) {
  const std::vector<double> shares = shares_of(weights);
  const std::uint64_t length = block_for(shares);
  for (const std::uint64_t quota : largest_remainders(shares, length)) begin_.push_back(begin_.back() + quota);
  for (std::size_t i = 0; i < shares.size(); ++i)
    deviation_ =
        std::max(deviation_, std::abs(static_cast<double>(quota(i)) / static_cast<double>(block()) - shares[i]));
}

Mixture::Draw Mixture::at(const PermutationKeys& keys, std::uint64_t position, std::uint64_t tweak) const {
  const std::uint64_t number = position / block();
  const std::uint64_t slot = keys.permute(block(), position % block(), tweak_of(tweak, number));
  const auto group =
      static_cast<std::size_t>(std::upper_bound(begin_.begin(), begin_.end(), slot) - begin_.begin()) - 1;
  return {group, number * quota(group) + (slot - begin_[group])};
}

std::vector<MixtureStretch> continue_mixture(const MixtureStretch& running, const std::vector<double>& weights,
                                             std::uint64_t position) {
  if (running.weights.size() != weights.size() || running.given.size() != weights.size())
    throw argument_error("the run used {} sources, this loader has {}; expected the same sources",
                         running.weights.size(), weights.size());
  const Mixture mixture(running.weights);
  if (running.weights == weights) return {running};
  const std::uint64_t blocks =
      position <= running.from ? 0 : (position - running.from + mixture.block() - 1) / mixture.block();
  MixtureStretch next{running.from + blocks * mixture.block(), running.given, weights};
  for (std::size_t group = 0; group < weights.size(); ++group) next.given[group] += blocks * mixture.quota(group);
  if (blocks == 0) return {next};
  return {running, next};
}

}  // namespace unstarve
