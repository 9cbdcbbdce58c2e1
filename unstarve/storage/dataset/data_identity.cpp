#include "unstarve/storage/dataset/data_identity.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "unstarve/core/digest.h"

namespace unstarve {
namespace {

constexpr std::uint64_t kSpread = 16;  // records in addition to the first and last of each source
constexpr int kBits = 16;
constexpr std::array<std::string_view, 4> kParts{"format", "class names", "number, order or sizes of the sources",
                                                 "names or order of shards and records"};

std::uint64_t folded(const Digest& digest) {
  const std::uint64_t value = digest.value();
  return (value ^ (value >> 16) ^ (value >> 32) ^ (value >> 48)) & 0xffff;
}

// The last `components` of a path or URL, without the query of a URL.
std::string_view end_of(std::string_view path, int components) {
  if (path.find("://") != std::string_view::npos) path = path.substr(0, path.find('?'));
  std::size_t begin = path.size();
  for (; components > 0 && begin != 0 && begin != std::string_view::npos; --components)
    begin = path.rfind('/', begin - 1);
  return begin == std::string_view::npos || components > 0 ? path : path.substr(begin + 1);
}

std::uint64_t of_records(const Dataset& data, const std::vector<std::uint64_t>& parts) {
  Digest digest;
  for (const DataFile& shard : data.files()) {
    digest.add(end_of(shard.path, 1));
    digest.add(shard.first);
  }
  const auto add = [&](std::uint64_t id) {
    const RecordLocation location = data.record_location(id);
    const bool is_file = !location.number && !location.offset;  // then the class folder is included
    digest.add(end_of(location.file, is_file ? 2 : 1));
    digest.add(location.member);
    digest.add(location.number.value_or(0));
    digest.add(location.offset.value_or(0));
  };
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (parts[i] == parts[i + 1]) continue;
    add(parts[i]);
    add(parts[i + 1] - 1);
  }
  for (std::uint64_t i = 1; i <= kSpread && data.size() > 0; ++i) add(data.size() / (kSpread + 1) * i);
  return folded(digest);
}

}  // namespace

std::uint64_t data_identity(const Dataset& data) {
  const std::vector<std::uint64_t> parts = data.parts();
  Digest format, classes, sources;
  format.add(data.format());
  for (const std::string& name : data.classes()) classes.add(name);
  for (const std::uint64_t begin : parts) sources.add(begin);
  const std::uint64_t identity = folded(format) << (3 * kBits) | folded(classes) << (2 * kBits) |
                                 folded(sources) << kBits | of_records(data, parts);
  return std::max<std::uint64_t>(identity, 1);
}

std::string identities_differ_in(std::uint64_t one, std::uint64_t other) {
  std::string text;
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    const int shift = kBits * (3 - static_cast<int>(i));
    if (((one ^ other) >> shift & 0xffff) == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(kParts[i]);
  }
  return text;
}

}  // namespace unstarve
