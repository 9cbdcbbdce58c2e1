#include "unstarve/jobs/pack/pack_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

// [0, 1), uniform over keys.
double unit_of(std::uint64_t hash) { return static_cast<double>(hash >> 11) * 0x1p-53; }

}  // namespace

PackPlan::PackPlan(const Dataset& data, const PackKeys& keys, const PackOptions& options) {
  double end = 0;
  for (const SplitShare& share : options.splits) splits_.push_back({share.name, end += share.share, {}, {}});
  if (splits_.empty()) splits_.push_back({kOnlySplit, 1, {}, {}});
  splits_.back().end = 2;  // so that rounding never excludes a sample

  const ExcludeList exclude = options.exclude.empty() ? ExcludeList() : ExcludeList(options.exclude, keys);
  exclude_entries_ = exclude.size();
  fingerprint_ = stable_hash("");
  for (std::uint64_t id = 0; id < data.size(); ++id) {
    const RecordLocation location = data.record_location(id);
    if (exclude.contains(location, keys)) {
      ++excluded_;
      continue;
    }
    const std::uint64_t hash = stable_hash(keys.key(location));
    fingerprint_ = stable_hash({reinterpret_cast<const char*>(&hash), sizeof hash}, fingerprint_);
    const double at = unit_of(hash);
    std::size_t split = 0;
    while (at >= splits_[split].end) ++split;
    splits_[split].ids.push_back(id);
    ++records_;
  }
  if (records_ == 0)
    throw input_error("pack: --exclude lists all {} records; expected at least one other record", excluded_);
  for (Split& split : splits_) {
    if (options.shuffle && !split.ids.empty()) split.order.emplace(split.ids.size(), options.seed, 0);
  }
}

void PackPlan::cut(double bytes_per_record, double shard_bytes) {
  shards_.clear();
  for (std::size_t split = 0; split < splits_.size(); ++split) {
    const std::uint64_t records = splits_[split].ids.size();
    if (records == 0) continue;
    const double needed = std::round(static_cast<double>(records) * bytes_per_record / shard_bytes);
    const auto count = static_cast<std::uint64_t>(std::clamp(needed, 1.0, static_cast<double>(records)));
    const std::uint64_t each = records / count, rest = records % count;
    std::uint64_t begin = 0;
    for (std::uint64_t number = 0; number < count; ++number) {
      const std::uint64_t end = begin + each + (number < rest ? 1 : 0);
      shards_.push_back({fmt::format("{}-{:05}", splits_[split].name, number), split, begin, end});
      begin = end;
    }
  }
}

std::vector<std::string> PackPlan::split_names() const {
  std::vector<std::string> names;
  for (const Split& split : splits_) names.push_back(split.name);
  return names;
}

std::uint64_t PackPlan::id(std::size_t split, std::uint64_t position) const {
  const Split& of = splits_[split];
  return of.ids[of.order ? (*of.order)(position) : position];
}

std::vector<std::uint64_t> PackPlan::spread(std::uint64_t count) const {
  count = std::min(count, records_);
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t position = records_ / count * i + records_ % count * i / count;
    std::size_t split = 0;
    while (position >= splits_[split].ids.size()) position -= splits_[split++].ids.size();
    ids.push_back(splits_[split].ids[position]);
  }
  return ids;
}

}  // namespace unstarve
