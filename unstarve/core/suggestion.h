#pragma once
// The end of a message about an unknown name: the known name that is most like it.
//
// Threads: pure function.

#include <algorithm>
#include <numeric>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

// Insertions, removals and replacements of characters, and swaps of neighbours, that turn `a` into `b`:
// the optimal string alignment distance (Damerau 1964).
[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_before(b.size() + 1), before(b.size() + 1), now(b.size() + 1);
  std::iota(now.begin(), now.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    two_before.swap(before);
    before.swap(now);
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({before[j] + 1, now[j - 1] + 1, before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], two_before[j - 2] + 1);
    }
  }
  return now[b.size()];
}

// ". Did you mean 'size'?", or "" if more than a third of the characters of every known name differ.
template <std::ranges::input_range Names>
[[nodiscard]] std::string suggestion(std::string_view name, const Names& known) {
  std::string_view best;
  std::size_t best_distance = name.size();
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (3 * distance > std::max(name.size(), candidate.size()) || distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best.empty() ? "" : ". Did you mean '" + std::string(best) + "'?";
}

}  // namespace unstarve
