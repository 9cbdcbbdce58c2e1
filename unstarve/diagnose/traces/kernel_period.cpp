#include "unstarve/diagnose/traces/kernel_period.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace unstarve {
namespace {

constexpr double kSimilar = 0.1;    // distances may differ by this share of their median
constexpr double kRegular = 0.8;    // share of similar distances
constexpr double kMost = 0.8;       // share of the intervals in which a kind appears
constexpr double kKinds = 0.75;     // share of the kinds that appear in most intervals
constexpr std::size_t kTried = 16;  // distances

using Positions = std::vector<std::size_t>;

// What may begin steps.
struct Anchor {
  const Positions* positions = nullptr;
  std::size_t distance = 0;  // median
};

bool is_similar(std::size_t distance, double median) {
  return std::abs(static_cast<double>(distance) - median) <= kSimilar * median;
}

// The median distance of launches in one window; 0: they are irregular, or too few.
std::size_t regular_distance(std::span<const KernelStart> starts, const Positions& positions, std::size_t fewest) {
  Positions distances;
  for (std::size_t i = 1; i < positions.size(); ++i)
    if (starts[positions[i]].window == starts[positions[i - 1]].window)
      distances.push_back(positions[i] - positions[i - 1]);
  if (distances.size() < fewest) return 0;
  Positions sorted = distances;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const auto median = static_cast<double>(*middle);
  const auto similar =
      std::ranges::count_if(distances, [&](std::size_t distance) { return is_similar(distance, median); });
  return static_cast<double>(similar) >= kRegular * static_cast<double>(distances.size()) ? *middle : 0;
}

// Without those before the first two intervals in a row that are similar to the median: a warm-up has the kernel, too.
// A window may end after the first of both.
Positions without_warm_up(std::span<const KernelStart> starts, const Anchor& anchor) {
  const Positions& begins = *anchor.positions;
  const auto in_window = [&](std::size_t i) {
    return i + 1 < begins.size() && starts[begins[i]].window == starts[begins[i + 1]].window;
  };
  const auto similar = [&](std::size_t i) {
    return in_window(i) && is_similar(begins[i + 1] - begins[i], static_cast<double>(anchor.distance));
  };
  std::size_t first = 0;
  while (first + 1 < begins.size() && !(similar(first) && (similar(first + 1) || !in_window(first + 1)))) ++first;
  return {begins.begin() + static_cast<std::ptrdiff_t>(first), begins.end()};
}

// Whether most kinds of kernels appear in most of the intervals between the launches of `anchor`.
bool contains_most_kinds(std::span<const KernelStart> starts, const std::map<std::uint32_t, Positions>& kinds,
                         const Positions& anchors) {
  std::vector<bool> counted(anchors.size(), false);  // interval i: anchors[i] to anchors[i + 1], within one window
  std::size_t intervals = 0;
  for (std::size_t i = 0; i + 1 < anchors.size(); ++i) {
    counted[i] = starts[anchors[i]].window == starts[anchors[i + 1]].window;
    intervals += counted[i] ? 1 : 0;
  }
  std::size_t common = 0, known = 0;
  for (const auto& [kind, positions] : kinds) {
    if (positions.size() < 2 || positions.back() < starts.size() / 2) continue;  // warm-up
    ++known;
    std::size_t hit = 0, interval = 0, last = anchors.size();
    for (const std::size_t position : positions) {
      if (position < anchors[0]) continue;
      while (interval + 1 < anchors.size() && anchors[interval + 1] <= position) ++interval;
      if (interval == last || !counted[interval]) continue;
      last = interval;
      ++hit;
    }
    common += static_cast<double>(hit) >= kMost * static_cast<double>(intervals) ? 1 : 0;
  }
  return known > 0 && static_cast<double>(common) >= kKinds * static_cast<double>(known);
}

Positions begins_in(std::span<const KernelStart> starts) {
  std::map<std::uint32_t, Positions> kinds;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Positions> pairs;  // a kernel and the one before it
  for (std::size_t i = 0; i < starts.size(); ++i) {
    kinds[starts[i].kernel].push_back(i);
    if (i > 0 && starts[i].window == starts[i - 1].window) pairs[{starts[i - 1].kernel, starts[i].kernel}].push_back(i);
  }
  std::vector<Anchor> anchors;
  const auto consider = [&](const Positions& positions, std::size_t fewest) {
    const std::size_t distance = regular_distance(starts, positions, fewest);
    if (distance > 0) anchors.push_back({&positions, distance});
  };
  for (const auto& [kernel, positions] : kinds) consider(positions, kFewestPeriods);
  for (const auto& [pair, positions] : pairs) consider(positions, 2 * kFewestPeriods);
  std::ranges::sort(anchors, [](const Anchor& a, const Anchor& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.positions->front() < b.positions->front();
  });
  std::set<std::size_t> tried;
  for (const Anchor& anchor : anchors) {
    if (tried.size() == kTried) break;
    if (!tried.insert(anchor.distance).second) continue;  // the others of this distance have the same intervals
    if (contains_most_kinds(starts, kinds, *anchor.positions)) return without_warm_up(starts, anchor);
  }
  return {};
}

}  // namespace

std::vector<std::size_t> step_begins(std::span<const KernelStart> starts) {
  for (const std::size_t part : {1, 2, 4}) {
    const std::size_t first = starts.size() - starts.size() / part;
    Positions begins = begins_in(starts.subspan(first));
    for (std::size_t& begin : begins) begin += first;
    if (!begins.empty()) return begins;
  }
  return {};
}

}  // namespace unstarve
