#pragma once
// A compact list of sample ids: index -> id.
//
//   runs   | 0: 5000.. | 300: 9000.. | ...    runs of consecutive ids, with the index where each run begins
//   list   | 3 | 17 | 18 | 40 | ...           4 bytes per id, used when runs become numerous and short
//
// The first N samples, a class of a folder sorted by class, or the first samples of many sources take only a few bytes.
//
// Threads: one thread adds; afterwards any thread reads. Cost: a lookup is one step, or a binary search over the runs.

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

  // For ids below `records`. With more than 2^32 records only runs are used.
  explicit SampleIds(std::uint64_t records) : may_list_(records <= kMostListed) {}
  static constexpr std::uint64_t kMostListed = std::uint64_t{1} << 32;

  // Appends ids first, first + 1, ...
  void add(std::uint64_t first, std::uint64_t count);
  void add(std::span<const std::uint32_t> ids);
  // Releases spare capacity.
  void shrink();

  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Precondition: index < size().
  [[nodiscard]] std::uint64_t operator[](std::uint64_t index) const {
    if (!list_.empty()) return list_[static_cast<std::size_t>(index)];
    return begins_.size() == 1 ? begins_[0].id + index : find_in_runs(index);
  }
  // Whether every id equals its index.
  [[nodiscard]] bool as_stored() const { return size_ == 0 || (begins_.size() == 1 && begins_[0].id == 0); }
  // The index of the first id >= `id` in [begin, end), where ids ascend; `end` if there is none.
  [[nodiscard]] std::uint64_t lower_bound(std::uint64_t begin, std::uint64_t end, std::uint64_t id) const;

  // Equal for equal ids in either representation.
  [[nodiscard]] std::uint64_t fingerprint() const;
  // The representation: one of the two is empty.
  [[nodiscard]] std::vector<Run> runs() const;
  [[nodiscard]] std::span<const std::uint32_t> list() const { return list_; }

 private:
  struct Begin {
    std::uint64_t index, id;
  };
  [[nodiscard]] std::uint64_t find_in_runs(std::uint64_t index) const;
  // Calls f(first, count) for each run of consecutive ids, in either representation.
  template <class F>
  void each_run(const F& f) const;
  void to_list();

  bool may_list_;
  std::uint64_t size_ = 0;
  std::vector<Begin> begins_;  // by ascending index; empty if list_ is used
  std::vector<std::uint32_t> list_;
};

}  // namespace unstarve
