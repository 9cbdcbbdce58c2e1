#include "unstarve/pipeline/order/buckets.h"

#include <algorithm>
#include <numeric>

#include "unstarve/pipeline/order/sample_set.h"

namespace unstarve {
namespace {

// Tweak of the permutations of runs.
constexpr std::uint64_t kRunOrder = 0x6275636b657473;

// Pixels of `part` if every sample is padded to the largest height and width in it.
double padded(std::span<const Size> sizes, std::span<const std::uint32_t> part) {
  Size largest;
  for (const std::uint32_t i : part) {
    largest.width = std::max(largest.width, sizes[i].width);
    largest.height = std::max(largest.height, sizes[i].height);
  }
  return static_cast<double>(largest.width) * largest.height * static_cast<double>(part.size());
}

// Sorts by one side, then the other, then the index: a total order, so results do not depend on the platform.
void sort_by(std::span<const Size> sizes, std::span<std::uint32_t> part, int Size::*side, int Size::*other) {
  std::sort(part.begin(), part.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (sizes[a].*side != sizes[b].*side) return sizes[a].*side < sizes[b].*side;
    if (sizes[a].*other != sizes[b].*other) return sizes[a].*other < sizes[b].*other;
    return a < b;
  });
}

void split(std::span<const Size> sizes, std::span<std::uint32_t> part, std::uint64_t run) {
  const std::uint64_t runs = (part.size() + run - 1) / run;
  if (runs <= 1) {
    std::sort(part.begin(), part.end());
    return;
  }
  const auto middle = static_cast<std::size_t>(runs / 2 * run);
  const auto cost = [&] { return padded(sizes, part.first(middle)) + padded(sizes, part.subspan(middle)); };
  sort_by(sizes, part, &Size::height, &Size::width);
  const double by_height = cost();
  sort_by(sizes, part, &Size::width, &Size::height);
  if (by_height < cost()) sort_by(sizes, part, &Size::height, &Size::width);
  split(sizes, part.first(middle), run);
  split(sizes, part.subspan(middle), run);
}

}  // namespace

std::vector<std::uint32_t> group_by_size(std::span<const Size> sizes, std::uint64_t run) {
  std::vector<std::uint32_t> numbers(sizes.size());
  std::iota(numbers.begin(), numbers.end(), std::uint32_t{0});
  split(sizes, numbers, run);
  return numbers;
}

Buckets::Buckets(std::uint64_t window, std::uint64_t run, bool shuffle, std::shared_ptr<const SampleSet> samples)
    : window_(window), run_(run), shuffle_(shuffle), samples_(std::move(samples)) {}

std::vector<std::uint32_t> Buckets::arrange(const Epoch& epoch, std::uint64_t begin, std::uint64_t end) const {
  std::vector<Size> sizes;
  sizes.reserve(static_cast<std::size_t>(end - begin));
  for (std::uint64_t position = begin; position < end; ++position)
    sizes.push_back(samples_->sizes[static_cast<std::size_t>(epoch.id_at(position))]);
  const std::vector<std::uint32_t> grouped = group_by_size(sizes, run_);
  if (!shuffle_) return grouped;
  // A shorter run stays last, so that batches and runs begin at the same positions.
  const std::uint64_t whole = sizes.size() / run_;
  std::vector<std::uint32_t> positions;
  positions.reserve(grouped.size());
  for (std::uint64_t i = 0; i < whole; ++i) {
    const auto first = static_cast<std::ptrdiff_t>(epoch.keys.permute(whole, i, tweak_of(kRunOrder, begin)) * run_);
    positions.insert(positions.end(), grouped.begin() + first,
                     grouped.begin() + first + static_cast<std::ptrdiff_t>(run_));
  }
  positions.insert(positions.end(), grouped.begin() + static_cast<std::ptrdiff_t>(whole * run_), grouped.end());
  return positions;
}

std::uint64_t Buckets::at(const Epoch& epoch, std::uint64_t position, Window& window) const {
  if (position < window.begin || position >= window.end) {
    window.begin = position / window_ * window_;
    window.end = std::min(epoch.samples, window.begin + window_);
    const auto key = std::pair(epoch.number, window.begin);
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(cached_.begin(), cached_.end(), [&](const auto& entry) { return entry.first == key; });
    if (found != cached_.end()) {
      window.positions = found->second;
    } else {
      window.positions = std::make_shared<const std::vector<std::uint32_t>>(arrange(epoch, window.begin, window.end));
      if (cached_.size() == kCachedWindows) cached_.pop_front();
      cached_.emplace_back(key, window.positions);
    }
  }
  return window.begin + (*window.positions)[static_cast<std::size_t>(position - window.begin)];
}

}  // namespace unstarve
