#include "unstarve/diagnose/traces/fallback.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace unstarve {
namespace {

constexpr std::uint64_t kFewNumbers = 1024;    // bytes: a loss, a size, a few metrics
constexpr std::int64_t kShortestGap = 20'000;  // ns: shorter ones are the latency of two copies
constexpr double kMostOfGap = 0.5;
constexpr std::uint64_t kSimilarBytes = 4;  // factor between the bytes of both copies

// Operators that copy, or only make room.
constexpr std::array<std::string_view, 10> kTransfers{
    "aten::to",    "aten::_to_copy", "aten::copy_",      "aten::item",        "aten::_local_scalar_dense",
    "aten::empty", "aten::detach",   "aten::pin_memory", "aten::_pin_memory", "aten::is_nonzero"};

bool is_transfer(std::string_view name) {
  return std::ranges::any_of(
      kTransfers, [&](std::string_view one) { return name == one || (one == "aten::empty" && name.starts_with(one)); });
}

struct Gap {
  std::int64_t begin, end;
  std::uint64_t to_host, to_device;  // bytes
};

// Gaps of all devices between a copy to the host and one to a device, in order.
std::vector<Gap> gaps_between_copies(const TraceEvents& events) {
  std::vector<const TraceEvent*> work;
  for (const TraceEvent& event : events.events())
    if (event.activity <= TraceActivity::kMemset) work.push_back(&event);
  std::ranges::sort(work, [](const TraceEvent* a, const TraceEvent* b) { return a->begin_ns < b->begin_ns; });
  std::vector<Gap> gaps;
  const TraceEvent* latest = nullptr;  // the one that ends last
  for (const TraceEvent* const event : work) {
    if (latest != nullptr && event->begin_ns >= latest->end_ns + kShortestGap &&
        latest->activity == TraceActivity::kCopy && latest->direction == CopyDirection::kToHost &&
        event->activity == TraceActivity::kCopy && event->direction == CopyDirection::kToDevice)
      gaps.push_back({latest->end_ns, event->begin_ns, latest->bytes, event->bytes});
    if (latest == nullptr || event->end_ns > latest->end_ns) latest = event;
  }
  return gaps;
}

bool in_one_step(const Gap& gap, const TraceSteps& steps) {
  return std::ranges::any_of(steps.windows,
                             [&](const Interval& step) { return step.begin <= gap.begin && gap.end <= step.end; });
}

}  // namespace

Fallbacks find_fallbacks(const TraceEvents& events, const TraceSteps& steps, const std::set<std::uint32_t>& launching,
                         const Intervals& busy, const Intervals& runtime) {
  Fallbacks result;
  std::vector<Gap> gaps = gaps_between_copies(events);
  std::erase_if(gaps, [&](const Gap& gap) {
    return gap.to_host <= kFewNumbers || busy.overlap(gap.begin, gap.end) > 0 || !in_one_step(gap, steps);
  });
  std::vector<const TraceEvent*> operators;
  if (!gaps.empty()) {
    for (const TraceEvent& event : events.events())
      if (event.activity == TraceActivity::kOperator) operators.push_back(&event);
  }
  const bool has_operators = !operators.empty();
  std::erase_if(operators, [&](const TraceEvent* one) { return !launching.contains(one->lane); });
  // Outer operators before those that they call.
  std::ranges::sort(operators, [](const TraceEvent* a, const TraceEvent* b) {
    return std::pair(a->begin_ns, -a->end_ns) < std::pair(b->begin_ns, -b->end_ns);
  });
  std::map<std::uint32_t, NamedTime> names;
  auto next = operators.begin();        // the first one that begins in the gap
  const TraceEvent* around = nullptr;   // the innermost one that contains the gap
  std::vector<const TraceEvent*> open;  // that began before the gap
  for (const Gap& gap : gaps) {
    for (; next != operators.end() && (*next)->begin_ns < gap.begin; ++next) open.push_back(*next);
    std::erase_if(open, [&](const TraceEvent* one) { return one->end_ns < gap.begin; });
    around = nullptr;
    for (const TraceEvent* const one : open) {
      const std::string_view name = events.name(one->name);
      if (one->end_ns >= gap.end && name.starts_with("aten::") && !is_transfer(name)) around = one;
    }
    std::int64_t inside = 0, outer_end = gap.begin;
    std::vector<const TraceEvent*> found;
    for (auto one = next; one != operators.end() && (*one)->begin_ns < gap.end; ++one) {
      if ((*one)->end_ns > gap.end || (*one)->end_ns <= outer_end || is_transfer(events.name((*one)->name))) continue;
      inside += (*one)->end_ns - std::max((*one)->begin_ns, outer_end);
      outer_end = (*one)->end_ns;
      found.push_back(*one);
    }
    const auto length = static_cast<double>(gap.end - gap.begin);
    const bool ran = static_cast<double>(inside) >= kMostOfGap * length;
    const bool similar = gap.to_device > kFewNumbers && gap.to_device <= kSimilarBytes * gap.to_host &&
                         gap.to_host <= kSimilarBytes * gap.to_device;
    const bool alone = static_cast<double>(runtime.overlap(gap.begin, gap.end)) < kMostOfGap * length;
    if (has_operators ? !ran && around == nullptr : !similar || !alone) continue;
    ++result.use.count;
    result.use.seconds += 1e-9 * length;
    result.use.bytes += static_cast<std::int64_t>(gap.to_host + gap.to_device);
    result.gaps.add(gap.begin, gap.end);
    const auto add = [&](const TraceEvent& one, std::int64_t ns) {
      NamedTime& named = names[one.name];
      named.name = events.name(one.name);
      ++named.count;
      named.seconds += 1e-9 * static_cast<double>(ns);
    };
    if (ran) {
      for (const TraceEvent* const one : found) add(*one, one->end_ns - one->begin_ns);
    } else if (around != nullptr) {
      add(*around, gap.end - gap.begin);
    }
  }
  result.gaps.close();
  for (auto& [id, named] : names) result.use.operators.push_back(std::move(named));
  std::ranges::sort(result.use.operators, [](const NamedTime& a, const NamedTime& b) { return a.seconds > b.seconds; });
  if (result.use.operators.size() > kMostNames) result.use.operators.resize(kMostNames);
  return result;
}

}  // namespace unstarve
