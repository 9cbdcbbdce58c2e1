#pragma once
// The end of a message about an unknown name: the known name that is most like it.
//
// Threads: pure function.

#include <algorithm>
#include <numeric>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace unstarve {

// Insertions, removals and replacements of characters that turn `a` into `b`.
[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // distances of the first characters of `a` to all beginnings of `b`
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
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
