#pragma once
// Sets of points in time as sorted, disjoint intervals.
//
// Ownership: owns them. Threads: as a std::vector. Failure: none.
// Cost:      adding n intervals sorts them once, in close(); overlap() is a binary search.

#include <cstdint>
#include <vector>

namespace unstarve {

struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

class Intervals {
 public:
  // Intervals may overlap and come in any order. Empty ones are ignored.
  void add(std::int64_t begin, std::int64_t end);
  // Merges what was added. Afterwards the functions below may be called, and add() no more.
  void close();

  [[nodiscard]] const std::vector<Interval>& list() const { return list_; }
  [[nodiscard]] bool empty() const { return list_.empty(); }
  // Time of [begin, end) that is in this set.
  [[nodiscard]] std::int64_t overlap(std::int64_t begin, std::int64_t end) const;
  [[nodiscard]] bool contains(std::int64_t time) const;

 private:
  [[nodiscard]] std::int64_t before(std::int64_t time) const;  // time in the set before `time`
  std::vector<Interval> list_;
  std::vector<std::int64_t> sums_;  // sums_[i]: length of the first i intervals
};

}  // namespace unstarve
