#pragma once
// Which of a sequence of numbered samples are settled, in any order, within a bounded distance of the first unsettled
// one. RelaxedDelivery has two: of the samples that have a position in a batch, and of those that the consumer took.
//
// Threads: one at a time. Cost: a bit per number of the window; settle() is constant on average.

#include <cstdint>
#include <vector>

namespace unstarve {

// The smallest window of relaxed order, independent of the batch size: long enough for the work of about forty threads
// while one sample takes a hundred times as long as the others.
inline constexpr std::uint64_t kLeastWindow = 4096;

class ReorderWindow {
 public:
  // Numbers first .. first + size - 1; size 1 or more.
  explicit ReorderWindow(std::uint64_t size) : settled_(size) {}

  // The first unsettled number.
  [[nodiscard]] std::uint64_t first() const { return first_; }
  [[nodiscard]] std::uint64_t size() const { return settled_.size(); }
  [[nodiscard]] bool holds(std::uint64_t number) const { return number - first_ < settled_.size(); }

  // Precondition: holds(number), not settled.
  void settle(std::uint64_t number) {
    settled_[number % settled_.size()] = true;
    for (; settled_[first_ % settled_.size()]; ++first_) settled_[first_ % settled_.size()] = false;
  }

  // Bit i: whether number first() + i is settled; without trailing zeros.
  [[nodiscard]] std::vector<bool> ahead() const {
    std::vector<bool> bits;
    for (std::uint64_t i = 0; i < settled_.size(); ++i) {
      if (!settled_[(first_ + i) % settled_.size()]) continue;
      bits.resize(i + 1);
      bits[i] = true;
    }
    return bits;
  }

 private:
  std::uint64_t first_ = 0;
  std::vector<bool> settled_;
};

}  // namespace unstarve
