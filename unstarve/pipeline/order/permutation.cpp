#include "unstarve/pipeline/order/permutation.h"

#include <algorithm>
#include <bit>

#include "unstarve/core/random.h"

namespace unstarve {
namespace {

// Belongs to no sample.
constexpr std::uint64_t kOrderSample = ~std::uint64_t{0};

// Tweaks of windowed().
enum Purpose : std::uint64_t { kRuns, kWindows, kRemainder };

int bits_for(std::uint64_t size) { return std::max(2, static_cast<int>(std::bit_width(size - 1))); }

}  // namespace

PermutationKeys::PermutationKeys(std::uint64_t seed, std::uint32_t epoch) {
  Random random(seed, epoch, kOrderSample, kOrderStream);
  for (auto& key : keys_) key = (std::uint64_t{random.bits()} << 32) | random.bits();
}

// An unbalanced Feistel network: even rounds change the high half by the low half, odd rounds the low half by the high.
inline std::uint64_t PermutationKeys::walk(std::uint64_t size, int low_bits, int high_bits, std::uint64_t position,
                                           std::uint64_t tweak) const {
  const std::uint64_t low_mask = (std::uint64_t{1} << low_bits) - 1;
  const std::uint64_t high_mask = (std::uint64_t{1} << high_bits) - 1;
  do {
    std::uint64_t low = position & low_mask, high = position >> low_bits;
    for (std::size_t round = 0; round < kRounds; round += 2) {
      high ^= mix_bits(low + keys_[round] + tweak) & high_mask;
      low ^= mix_bits(high + keys_[round + 1] + tweak) & low_mask;
    }
    position = (high << low_bits) | low;
  } while (position >= size);
  return position;
}

std::uint64_t PermutationKeys::permute(std::uint64_t size, std::uint64_t position, std::uint64_t tweak) const {
  const int bits = bits_for(size);
  return walk(size, bits / 2, bits - bits / 2, position, tweak);
}

Permutation::Permutation(std::uint64_t size, std::uint64_t seed, std::uint32_t epoch)
    : keys_(seed, epoch), size_(size), low_bits_(bits_for(size) / 2), high_bits_(bits_for(size) - low_bits_) {}

std::uint64_t Permutation::operator()(std::uint64_t position) const {
  return keys_.walk(size_, low_bits_, high_bits_, position, 0);
}

std::uint64_t windowed(const PermutationKeys& keys, std::uint64_t size, std::uint64_t window, std::uint64_t position,
                       std::uint64_t tweak) {
  // First within the window, ...
  const std::uint64_t number = position / window, begin = number * window;
  const std::uint64_t index = begin + keys.permute(std::min(window, size - begin), position - begin,
                                                   tweak_of(tweak_of(tweak, kWindows), number));
  // ... then in the permuted sequence of runs, into which the remainder (shorter than a run) is inserted.
  const std::uint64_t runs = size / kWindowRun, remainder = size % kWindowRun;
  const std::uint64_t remainder_begin = keys.below(runs + 1, tweak_of(tweak, kRemainder)) * kWindowRun;
  if (index >= remainder_begin && index < remainder_begin + remainder)
    return runs * kWindowRun + (index - remainder_begin);
  const std::uint64_t in_runs = index < remainder_begin ? index : index - remainder;
  return keys.permute(runs, in_runs / kWindowRun, tweak_of(tweak, kRuns)) * kWindowRun + in_runs % kWindowRun;
}

}  // namespace unstarve
