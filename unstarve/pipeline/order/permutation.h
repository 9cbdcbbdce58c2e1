#pragma once
// Keyed permutations of 0 .. size - 1, computed without a list.
//
// A Feistel network over the next power of two, applied until the result is below `size` (cycle walking; Black and
// Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002). Different keys give different permutations; a tweak
// selects a further permutation of the same keys.
//
// Threads: pure after construction. Cost: 20-40 ns per number, keys about 100 ns.

#include <array>
#include <cstdint>

namespace unstarve {

// The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014): every input bit reaches every output bit.
[[nodiscard]] constexpr std::uint64_t mix_bits(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// Derives a tweak from another tweak and a number; practically never 0 (no tweak).
[[nodiscard]] constexpr std::uint64_t tweak_of(std::uint64_t tweak, std::uint64_t number) {
  return mix_bits(tweak + 0x9e3779b97f4a7c15ULL * (number + 1));
}

class PermutationKeys {
 public:
  PermutationKeys(std::uint64_t seed, std::uint32_t epoch);
  // The element at `position` of the permutation of 0 .. size - 1 selected by `tweak`. Precondition: position < size.
  [[nodiscard]] std::uint64_t permute(std::uint64_t size, std::uint64_t position, std::uint64_t tweak) const;
  // A pseudo-random number below `end` for these keys and `tweak`; end >= 1 and much smaller than 2^64.
  [[nodiscard]] std::uint64_t below(std::uint64_t end, std::uint64_t tweak) const {
    return mix_bits(keys_[0] + tweak) % end;
  }

 private:
  friend class Permutation;
  static constexpr std::size_t kRounds = 8;
  [[nodiscard]] std::uint64_t walk(std::uint64_t size, int low_bits, int high_bits, std::uint64_t position,
                                   std::uint64_t tweak) const;
  std::array<std::uint64_t, kRounds> keys_{};
};

// The permutation without tweak for a fixed size; faster than PermutationKeys::permute().
class Permutation {
 public:
  // Precondition: size >= 1.
  Permutation(std::uint64_t size, std::uint64_t seed, std::uint32_t epoch);
  // Precondition: position < size.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t position) const;
  [[nodiscard]] const PermutationKeys& keys() const { return keys_; }

 private:
  PermutationKeys keys_;
  std::uint64_t size_;
  int low_bits_, high_bits_;
};

// Shuffling for storage that is fast when read almost sequentially: tar archives, spinning disks, object stores.
//
//   stored      run 0 | run 1 | run 2 | ... | remainder       runs of kWindowRun records
//   runs        run 7 | run 2 | remainder | run 5 | ...       in a keyed order
//   windows     [ .. any order .. ][ .. any order .. ] ...    of `window` records each, each permuted separately
//
// A record moves with its run and then within one window, so that memory or page cache for one window serves each run
// with one seek. Every record occurs exactly once for any size; the last window may be shorter.
// Cost: two permutations per number, no state.

// 64 photographs (110 KB each) are 7 MB: the seek before them (10 ms on a disk) takes a sixth of the reading time.
inline constexpr std::uint64_t kWindowRun = 64;

// The record at `position` of `size` records. Preconditions: position < size, window >= 1.
[[nodiscard]] std::uint64_t windowed(const PermutationKeys& keys, std::uint64_t size, std::uint64_t window,
                                     std::uint64_t position, std::uint64_t tweak);

}  // namespace unstarve
