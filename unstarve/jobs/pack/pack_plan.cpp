#include "unstarve/jobs/pack/pack_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "unstarve/core/error.h"
#include "unstarve/jobs/pack/exclude_list.h"

namespace unstarve {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::kArgument, what); }

template <class T>
bool parse_all(std::string_view text, T& value) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && status == std::errc() && end == text.data() + text.size();
}

// A name becomes part of file names, and readers look for it there as a word.
bool is_split_name(const std::string& name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

// [0, 1), uniform over keys.
double unit_of(std::uint64_t hash) { return static_cast<double>(hash >> 11) * 0x1p-53; }

}  // namespace

std::vector<SplitShare> parse_splits(const std::string& text) {
  const auto wrong = [&](const std::string& what) {
    refuse("--split: found \"" + text + "\": " + what + "; expected shares that add up to 1, as train=0.9,val=0.1");
  };
  std::vector<SplitShare> splits;
  double sum = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) wrong("\"" + item + "\" has no =");
    SplitShare split{item.substr(0, equals)};
    if (!is_split_name(split.name)) wrong("\"" + split.name + "\" is no name of letters, digits and _");
    if (!parse_all(std::string_view(item).substr(equals + 1), split.share) || !(split.share > 0 && split.share <= 1))
      wrong("the share of " + split.name + " is no number over 0 and up to 1");
    for (const SplitShare& other : splits) {
      if (other.name == split.name) wrong(split.name + " comes twice");
    }
    sum += split.share;
    splits.push_back(split);
  }
  if (std::abs(sum - 1) > 1e-6) wrong(fmt::format("the shares add up to {:.6g}", sum));
  return splits;
}

PackPart parse_part(const std::string& text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  PackPart part;
  const bool read = parse_all(std::string_view(text).substr(0, slash), part.number) && slash < text.size() &&
                    parse_all(std::string_view(text).substr(slash + 1), part.of);
  if (!read || part.of < 1 || part.number > part.of)
    refuse("--part: found \"" + text + "\", expected i/n with i from 0 to n-1, or from 1 to n");
  return part;
}

PackPlan::PackPlan(const Dataset& data, const PackKeys& keys, const PackOptions& options) {
  double end = 0;
  for (const SplitShare& share : options.splits) splits_.push_back({share.name, end += share.share, {}, {}});
  if (splits_.empty()) splits_.push_back({kOnlySplit, 1, {}, {}});
  splits_.back().end = 2;  // rounding must not lose a sample

  const ExcludeList exclude = options.exclude.empty() ? ExcludeList() : ExcludeList(options.exclude, keys);
  exclude_entries_ = exclude.size();
  fingerprint_ = stable_hash("");
  for (std::uint64_t id = 0; id < data.size(); ++id) {
    const RecordLocation place = data.record_location(id);
    if (exclude.holds(place, keys)) {
      ++excluded_;
      continue;
    }
    const std::uint64_t hash = stable_hash(keys.key(place));
    fingerprint_ = stable_hash({reinterpret_cast<const char*>(&hash), sizeof hash}, fingerprint_);
    const double at = unit_of(hash);
    std::size_t split = 0;
    while (at >= splits_[split].end) ++split;
    splits_[split].ids.push_back(id);
    ++records_;
  }
  if (records_ == 0) throw Error(ErrorKind::kInput, "pack: no record is left; --exclude names all of them");
  for (Split& split : splits_) {
    if (options.shuffle && !split.ids.empty()) split.order.emplace(split.ids.size(), options.seed, 0);
  }
}

void PackPlan::cut(double bytes_per_record, double shard_bytes) {
  shards_.clear();
  for (std::size_t split = 0; split < splits_.size(); ++split) {
    const std::uint64_t records = splits_[split].ids.size();
    if (records == 0) continue;
    const double wanted = std::round(static_cast<double>(records) * bytes_per_record / shard_bytes);
    const auto count = static_cast<std::uint64_t>(std::clamp(wanted, 1.0, static_cast<double>(records)));
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

std::uint64_t PackPlan::id(std::size_t split, std::uint64_t place) const {
  const Split& of = splits_[split];
  return of.ids[of.order ? (*of.order)(place) : place];
}

std::vector<std::uint64_t> PackPlan::spread(std::uint64_t most) const {
  const std::uint64_t count = std::min(most, records_);
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t place = records_ / count * i + records_ % count * i / count;
    std::size_t split = 0;
    while (place >= splits_[split].ids.size()) place -= splits_[split++].ids.size();
    ids.push_back(splits_[split].ids[place]);
  }
  return ids;
}

}  // namespace unstarve
