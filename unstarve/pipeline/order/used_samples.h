#pragma once
// The samples of an epoch that were used before a run started: the first ones, and in relaxed order some later ones.
//
//   epoch   | used, `offset` samples | unused, used, unused, ... | unused ... |
//
// Threads: pure after construction. Memory: 8 bytes per unused sample between used ones.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace unstarve {

class UsedSamples {
 public:
  UsedSamples() = default;
  // Bit i of `later` is sample offset + i of an epoch of `length` samples.
  UsedSamples(std::uint64_t offset, const std::vector<bool>& later, std::uint64_t length);

  [[nodiscard]] std::uint64_t count() const { return offset_ + later_; }
  // The position in the epoch of the unused sample `index`; indices begin at count(). Beyond the last used sample, and
  // beyond the epoch, positions equal indices.
  [[nodiscard]] std::uint64_t position_of(std::uint64_t index) const {
    const std::uint64_t unused = index - offset_ - later_;
    return unused_ && unused < unused_->size() ? (*unused_)[unused] : index;
  }

 private:
  std::uint64_t offset_ = 0;
  std::uint64_t later_ = 0;                                   // used samples after `offset_`
  std::shared_ptr<const std::vector<std::uint64_t>> unused_;  // positions between these; null: later_ is 0
};

inline UsedSamples::UsedSamples(std::uint64_t offset, const std::vector<bool>& later, std::uint64_t length)
    : offset_(std::min(offset, length)) {
  auto unused = std::make_shared<std::vector<std::uint64_t>>();
  for (std::size_t i = 0; i < later.size() && offset_ + i < length; ++i) {
    if (later[i])
      ++later_;
    else
      unused->push_back(offset_ + i);
  }
  if (later_ > 0) unused_ = std::move(unused);
}

}  // namespace unstarve
