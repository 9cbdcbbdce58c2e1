#include "unstarve/jobs/pack/pack_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

[[noreturn]] void reject(const std::string& what) { throw Error(ErrorKind::kArgument, what); }

template <class T>
bool parse_all(std::string_view text, T& value) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && status == std::errc() && end == text.data() + text.size();
}

// A split name becomes part of file names, where readers search for it as a word.
bool is_split_name(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

}  // namespace

std::vector<SplitShare> parse_splits(const std::string& text) {
  const auto wrong = [&](const std::string& what) {
    reject("--split: found \"" + text + "\": " + what + "; expected shares that add up to 1, e.g. train=0.9,val=0.1");
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
    if (!is_split_name(split.name))
      wrong("\"" + split.name + "\" contains characters other than letters, digits and _");
    if (!parse_all(std::string_view(item).substr(equals + 1), split.share) || !(split.share > 0 && split.share <= 1))
      wrong("the share of " + split.name + " is not a number above 0 and up to 1");
    for (const SplitShare& other : splits) {
      if (other.name == split.name) wrong(split.name + " is listed twice");
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
    reject("--part: found \"" + text + "\"; expected i/n with i from 0 to n-1, or from 1 to n");
  return part;
}

}  // namespace unstarve
