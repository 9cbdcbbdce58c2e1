#include "unstarve/storage/remote/fetch.h"

#include <algorithm>

namespace unstarve::remote {

ScatterWriter::ScatterWriter(std::vector<std::span<std::uint8_t>> spans, std::uint64_t offset)
    : spans_(std::move(spans)) {
  while (current_ < spans_.size() && offset >= spans_[current_].size()) offset -= spans_[current_++].size();
  filled_ = static_cast<std::size_t>(offset);
}

void ScatterWriter::write(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty() && current_ < spans_.size()) {
    const std::span<std::uint8_t> room = spans_[current_].subspan(filled_);
    const std::size_t count = std::min(room.size(), bytes.size());
    std::copy_n(bytes.begin(), count, room.begin());
    bytes = bytes.subspan(count);
    filled_ += count;
    if (filled_ == spans_[current_].size()) {
      ++current_;
      filled_ = 0;
    }
  }
}

std::vector<PlannedRange> plan_ranges(std::span<const ReadRange> ranges, std::uint64_t split_bytes,
                                      std::uint64_t join_bytes) {
  std::vector<PlannedRange> plan;
  for (const ReadRange& range : ranges) {
    if (range.out.empty()) continue;
    PlannedRange* last = plan.empty() ? nullptr : &plan.back();
    if (last != nullptr && last->first + last->length == range.offset && last->length < join_bytes &&
        range.out.size() <= join_bytes - last->length) {
      last->length += range.out.size();
      last->out.push_back(range.out);
      continue;
    }
    // Parts of equal length, since a short last part would waste a round trip.
    const std::uint64_t parts = (range.out.size() + split_bytes - 1) / split_bytes;
    const std::uint64_t part_bytes = (range.out.size() + parts - 1) / parts;
    for (std::uint64_t at = 0; at < range.out.size(); at += part_bytes) {
      const std::uint64_t count = std::min<std::uint64_t>(part_bytes, range.out.size() - at);
      plan.push_back({range.offset + at, count, {range.out.subspan(at, count)}});
    }
  }
  return plan;
}

}  // namespace unstarve::remote
