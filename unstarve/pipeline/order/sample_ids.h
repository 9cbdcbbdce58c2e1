#pragma once
// Ids in their places: place -> id, from 0 on.
//
//   runs   | 0: 5000.. | 300: 9000.. | ...    neighbours as they are stored, by the place where each run begins
//   list   | 3 | 17 | 18 | 40 | ...           4 bytes an id, once the runs have become many and short
//
// So the first n of any data, a class of a folder that is sorted by class, or the beginnings of many sources take some
// bytes, however many samples they are.
//
// Threads: one that adds, then any. Cost: a place is found in one step, or among runs by halving.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace unstarve {

class SampleIds {
 public:
  struct Run {
    std::uint64_t first, count;
    friend bool operator==(const Run&, const Run&) = default;
  };

  // Of ids below `records`; beyond 2^32 of them all are runs.
  explicit SampleIds(std::uint64_t records) : may_list_(records <= kMostListed) {}
  static constexpr std::uint64_t kMostListed = std::uint64_t{1} << 32;

  // Appends ids first, first + 1, ...
  void add(std::uint64_t first, std::uint64_t count);
  void add(std::span<const std::uint32_t> ids);
  // Gives back what was set aside for more.
  void shrink();

  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Precondition: place < size().
  [[nodiscard]] std::uint64_t operator[](std::uint64_t place) const {
    if (!list_.empty()) return list_[static_cast<std::size_t>(place)];
    return begins_.size() == 1 ? begins_[0].id + place : among_runs(place);
  }
  // Whether every id is its own place.
  [[nodiscard]] bool as_stored() const { return size_ == 0 || (begins_.size() == 1 && begins_[0].id == 0); }
  // The place of the first id that is not below `id`, of those from `begin` to `end`, which ascend; else `end`.
  [[nodiscard]] std::uint64_t lower_bound(std::uint64_t begin, std::uint64_t end, std::uint64_t id) const;

  // Equal for equal ids, however they are kept.
  [[nodiscard]] std::uint64_t fingerprint() const;
  // What they are made of: one of the two is empty.
  [[nodiscard]] std::vector<Run> runs() const;
  [[nodiscard]] std::span<const std::uint32_t> list() const { return list_; }

 private:
  struct Begin {
    std::uint64_t place, id;
  };
  [[nodiscard]] std::uint64_t among_runs(std::uint64_t place) const;
  // Calls f(first, count) of each run, of the list's, too.
  template <class F>
  void each_run(const F& f) const;
  void to_list();

  bool may_list_;
  std::uint64_t size_ = 0;
  std::vector<Begin> begins_;  // ascending places; empty where there is a list
  std::vector<std::uint32_t> list_;
};

}  // namespace unstarve
