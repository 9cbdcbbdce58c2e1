#include "unstarve/diagnose/traces/intervals.h"

#include <algorithm>

namespace unstarve {

void Intervals::add(std::int64_t begin, std::int64_t end) {
  if (end > begin) list_.push_back({begin, end});
}

void Intervals::close() {
  std::ranges::sort(list_, [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::size_t count = 0;
  for (const Interval& interval : list_) {
    if (count > 0 && interval.begin <= list_[count - 1].end)
      list_[count - 1].end = std::max(list_[count - 1].end, interval.end);
    else
      list_[count++] = interval;
  }
  list_.resize(count);
  list_.shrink_to_fit();
  sums_.assign(1, 0);
  for (const Interval& interval : list_) sums_.push_back(sums_.back() + interval.end - interval.begin);
}

std::int64_t Intervals::before(std::int64_t time) const {
  const auto next = std::partition_point(list_.begin(), list_.end(), [&](const Interval& i) { return i.begin < time; });
  const auto index = static_cast<std::size_t>(next - list_.begin());
  if (index == 0) return 0;
  return sums_[index - 1] + std::min(time, list_[index - 1].end) - list_[index - 1].begin;
}

std::int64_t Intervals::overlap(std::int64_t begin, std::int64_t end) const {
  return list_.empty() || end <= begin ? 0 : before(end) - before(begin);
}

bool Intervals::contains(std::int64_t time) const {
  const auto next =
      std::partition_point(list_.begin(), list_.end(), [&](const Interval& i) { return i.begin <= time; });
  return next != list_.begin() && time < (next - 1)->end;
}

}  // namespace unstarve
