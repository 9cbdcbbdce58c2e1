#include "unstarve/pipeline/order/mixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

// Exact blocks are as short as that, so that any batch is near the weights, and no shorter, so that groups do not come
// in turns.
constexpr double kShortest = 64;
// Weights that no such block fits, of many digits, are kept within a thousandth by blocks of at least this many ...
constexpr double kLeastRounded = 1000;
// ... in which the smallest group has so many samples that its share is right to a tenth ...
constexpr double kLeastQuota = 10;
// ... and of so many lengths the one that fits best.
constexpr std::uint64_t kLengths = 4096;
constexpr double kLeastShare = 1e-6;
// Shares that are whole multiples of 1 / length come out so near to them.
constexpr double kExact = 1e-12;

std::vector<double> shares_of(std::span<const double> weights) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0)
      throw Error(ErrorKind::kArgument, fmt::format("weight {}: {}, expected 0 or more", i, weights[i]));
    sum += weights[i];
  }
  if (sum == 0) throw Error(ErrorKind::kArgument, "all weights are 0, expected one above it");
  if (!std::isfinite(sum)) throw Error(ErrorKind::kArgument, "the weights' sum is infinite, expected smaller ones");
  std::vector<double> shares(weights.begin(), weights.end());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    shares[i] /= sum;
    if (shares[i] > 0 && shares[i] < kLeastShare)
      throw Error(ErrorKind::kArgument,
                  fmt::format("weight {}: {}, less than a millionth of all; make it greater, or 0", i, weights[i]));
  }
  return shares;
}

// The greatest distance of a quota from its exact value in a block of `length`, at best: one that is rounded. More than
// `enough` need not be told exactly.
double rounding(std::span<const double> shares, std::uint64_t length, double enough) {
  double greatest = 0;
  for (const double share : shares) {
    const double exact = share * static_cast<double>(length);
    greatest = std::max(greatest, std::abs(exact - std::round(exact)) / static_cast<double>(length));
    if (greatest >= enough) break;
  }
  return greatest;
}

// The first of `lengths` lengths from `shortest` on whose quotas are nearest to the weights.
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
  double least = 1;
  for (const double share : shares)
    if (share > 0) least = std::min(least, share);
  // A whole number of samples of the smallest group; its share is the sum's rounding away from what was meant.
  const std::uint64_t exact = best_length(shares, std::max(kShortest, 1 / least - 1e-6), kLengths);
  if (rounding(shares, exact, 1) <= kExact) return exact;
  return best_length(shares, std::max(kLeastRounded, kLeastQuota / least), kLengths);
}

std::vector<std::uint64_t> largest_remainders(std::span<const double> shares, std::uint64_t length) {
  std::vector<std::uint64_t> quotas;
  std::vector<double> remainders;
  std::uint64_t left = length;
  for (const double share : shares) {
    // A share that is whole but for rounding must not lose one.
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
    throw Error(ErrorKind::kArgument, fmt::format("the run went over {} sources, expected as many as now, {}",
                                                  running.weights.size(), weights.size()));
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
