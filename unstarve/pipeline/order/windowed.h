#pragma once
// Shuffling for data that reward reading nearly as stored: tapes of tar, spinning disks, objects on a server.
//
//   stored      run 0 | run 1 | run 2 | ... | the rest        runs of kWindowRun records
//   runs        run 7 | run 2 | the rest | run 5 | ...        in a keyed order
//   windows     [ .. any order .. ][ .. any order .. ] ...    of `window` records each, each permuted in itself
//
// A record moves as far as its run does and then within one window, so that a window's worth of memory or page cache
// serves each run with one seek. Every record comes once, whatever the sizes; the last window may be shorter.
// Threads: pure. Cost: two permutations per number, no state.

#include <cstdint>

#include "unstarve/pipeline/order/permutation.h"

namespace unstarve {

// Of photographs (110 KB) 7 MB: the seek before them (10 ms on a disk) is a sixth of the time that reading them takes.
inline constexpr std::uint64_t kWindowRun = 64;

// The record at `position` of `size` records; position < size, window >= 1. `tweak` as of permutations.
[[nodiscard]] std::uint64_t windowed(const PermutationKeys& keys, std::uint64_t size, std::uint64_t window,
                                     std::uint64_t position, std::uint64_t tweak);

}  // namespace unstarve
