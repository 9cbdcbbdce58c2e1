#pragma once
// Finds the steps of a training program without markers: the launches that begin each repetition of a sequence.
//
//   kernels   a b b b c d | a b b b c d | a b b b c d       `a`, `c` and `d` appear once per step; the first is chosen
//
// A kernel, alone or after a certain other one, begins steps if its distances, counted in kernels, hardly vary, and if
// three quarters of all kinds of kernels appear in most of the intervals between its launches. The second condition
// excludes the layers of a network, which repeat within a step. Of the kernels that fulfil both, that with the shortest
// distance is chosen, which excludes what happens in every tenth step.
//
// Kinds that end in the first half of the kernels are those of a warm-up and do not count. A warm-up may have more
// kernels than all steps, as cuDNN tries all of its algorithms: without steps, the last half is searched alone, then
// the last quarter. Irregular intervals before the first regular ones are no steps.
//
// Threads: a pure function. Failure: none. Cost: O(n log n) for each of at most 48 distances that are tried.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace unstarve {

struct KernelStart {
  std::uint32_t kernel = 0;  // kernels with the same name and stream have the same number
  std::uint32_t window = 0;  // what is between two windows is unknown
};

// The positions in `starts`, which are in the order of time, at which steps begin. Empty if there are less than
// kFewestPeriods repetitions, or twice as many for a pair of kernels: of many pairs, one is regular by chance.
inline constexpr std::size_t kFewestPeriods = 4;
[[nodiscard]] std::vector<std::size_t> step_begins(std::span<const KernelStart> starts);

}  // namespace unstarve
