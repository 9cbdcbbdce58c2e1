#include "unstarve/pipeline/order/sample_ids.h"

#include <algorithm>
#include <utility>

#include "unstarve/pipeline/order/permutation.h"

namespace unstarve {
namespace {

// A binary search over up to kMaxShortRuns runs stays within the L1 cache. More runs are used only if they are long, so
// that a list would take 16 times the memory.
constexpr std::size_t kMaxShortRuns = 1024;
constexpr std::uint64_t kLongRun = 64;

}  // namespace

void SampleIds::add(std::uint64_t first, std::uint64_t count) {
  if (count == 0) return;
  if (list_.empty()) {
    if (begins_.empty() || begins_.back().id + (size_ - begins_.back().index) != first)
      begins_.push_back({size_, first});
    size_ += count;
    if (may_list_ && begins_.size() > kMaxShortRuns && size_ / begins_.size() < kLongRun) to_list();
    return;
  }
  for (std::uint64_t id = first; id < first + count; ++id) list_.push_back(static_cast<std::uint32_t>(id));
  size_ += count;
}

void SampleIds::add(std::span<const std::uint32_t> ids) {
  for (std::size_t i = 0, next = 0; i < ids.size(); i = next) {
    if (!list_.empty()) {
      list_.insert(list_.end(), ids.begin() + static_cast<std::ptrdiff_t>(i), ids.end());
      size_ += ids.size() - i;
      return;
    }
    for (next = i + 1; next < ids.size() && ids[next] == std::uint64_t{ids[next - 1]} + 1;) ++next;
    add(ids[i], next - i);
  }
}

void SampleIds::to_list() {
  std::vector<std::uint32_t> list;
  list.reserve(static_cast<std::size_t>(size_));
  each_run([&](std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t id = first; id < first + count; ++id) list.push_back(static_cast<std::uint32_t>(id));
  });
  list_ = std::move(list);
  begins_ = {};
}

void SampleIds::shrink() {
  begins_.shrink_to_fit();
  list_.shrink_to_fit();
}

std::uint64_t SampleIds::find_in_runs(std::uint64_t index) const {
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), index,
                                      [](std::uint64_t value, const Begin& run) { return value < run.index; });
  const Begin& run = *(after - 1);
  return run.id + (index - run.index);
}

std::uint64_t SampleIds::lower_bound(std::uint64_t begin, std::uint64_t end, std::uint64_t id) const {
  while (begin < end) {
    const std::uint64_t middle = begin + (end - begin) / 2;
    if ((*this)[middle] < id)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

template <class F>
void SampleIds::each_run(const F& f) const {
  for (std::size_t i = 0; i < begins_.size(); ++i)
    f(begins_[i].id, (i + 1 < begins_.size() ? begins_[i + 1].index : size_) - begins_[i].index);
  for (std::size_t i = 0, next = 0; i < list_.size(); i = next) {
    for (next = i + 1; next < list_.size() && list_[next] == std::uint64_t{list_[next - 1]} + 1;) ++next;
    f(list_[i], next - i);
  }
}

std::uint64_t SampleIds::fingerprint() const {
  std::uint64_t print = mix_bits(size_ + 1);
  each_run([&](std::uint64_t first, std::uint64_t count) { print = tweak_of(tweak_of(print, first), count); });
  return print;
}

std::vector<SampleIds::Run> SampleIds::runs() const {
  std::vector<Run> runs;
  if (list_.empty()) each_run([&](std::uint64_t first, std::uint64_t count) { runs.push_back({first, count}); });
  return runs;
}

}  // namespace unstarve
