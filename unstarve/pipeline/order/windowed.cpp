#include "unstarve/pipeline/order/windowed.h"

#include <algorithm>

namespace unstarve {
namespace {

enum Purpose : std::uint64_t { kRuns, kWindows, kRest };

}  // namespace

std::uint64_t windowed(const PermutationKeys& keys, std::uint64_t size, std::uint64_t window, std::uint64_t position,
                       std::uint64_t tweak) {
  // Within the window ...
  const std::uint64_t number = position / window, begin = number * window;
  const std::uint64_t place = begin + keys.permute(std::min(window, size - begin), position - begin,
                                                   tweak_of(tweak_of(tweak, kWindows), number));
  // ... of the runs in their order, among which the rest, shorter than a run, has a place of its own.
  const std::uint64_t runs = size / kWindowRun, rest = size % kWindowRun;
  const std::uint64_t rest_begin = keys.below(runs + 1, tweak_of(tweak, kRest)) * kWindowRun;
  if (place >= rest_begin && place < rest_begin + rest) return runs * kWindowRun + (place - rest_begin);
  const std::uint64_t of_runs = place < rest_begin ? place : place - rest;
  return keys.permute(runs, of_runs / kWindowRun, tweak_of(tweak, kRuns)) * kWindowRun + of_runs % kWindowRun;
}

}  // namespace unstarve
