#include "unstarve/pipeline/order/record_list.h"

#include <algorithm>
#include <string_view>

#include "unstarve/core/base64.h"
#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve {
namespace {

constexpr std::string_view kBits = "bits:";

}  // namespace

std::vector<std::uint32_t> records_in(const std::string& text, std::uint64_t records) {
  std::vector<std::uint32_t> list;
  const auto add = [&](std::uint64_t first, std::uint64_t last) {
    if (last >= records) throw argument_error("record {}; expected 0 to {}", last, records - 1);
    if (first > last || (!list.empty() && first <= list.back()))
      throw argument_error("record {} after {}; expected ascending numbers", first, list.empty() ? last : list.back());
    for (std::uint64_t id = first; id <= last; ++id) list.push_back(static_cast<std::uint32_t>(id));
  };
  if (text.starts_with(kBits)) {
    const auto bits = bits_from_base64(std::string_view(text).substr(kBits.size()));
    if (!bits) throw argument_error("found bits that are not base64");
    for (std::size_t id = 0; id < bits->size(); ++id)
      if ((*bits)[id]) add(id, id);
    return list;
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view entry = std::string_view(text).substr(at, end - at);
    const std::size_t dash = entry.find('-');
    const auto first = parse_number<std::uint64_t>(entry.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number<std::uint64_t>(entry.substr(dash + 1));
    if (!first || !last) throw argument_error("found \"{}\"; expected a number or a range such as 0-99", entry);
    add(*first, *last);
    at = end + 1;
  }
  return list;
}

}  // namespace unstarve
