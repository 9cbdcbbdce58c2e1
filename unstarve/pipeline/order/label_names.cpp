#include "unstarve/pipeline/order/label_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

constexpr std::size_t kMaxListedNames = 10;

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return {};
  return number;
}

}  // namespace

std::vector<std::int64_t> class_numbers(const std::vector<std::string>& labels, const std::vector<std::string>& classes,
                                        const std::string& node) {
  std::vector<std::int64_t> numbers;
  for (const std::string& label : labels) {
    const auto named = std::find(classes.begin(), classes.end(), label);
    const auto number = whole_number(label);
    if (named != classes.end()) {
      numbers.push_back(named - classes.begin());
    } else if (number && (classes.empty() || *number < static_cast<std::int64_t>(classes.size()))) {
      numbers.push_back(*number);
    } else if (classes.empty()) {
      throw Error(
          ErrorKind::kArgument,
          fmt::format("{}: found \"{}\", expected a number, because the dataset has no class names", node, label));
    } else {
      const auto listed = std::span(classes).first(std::min(classes.size(), kMaxListedNames));
      throw Error(ErrorKind::kArgument,
                  fmt::format("{}: found \"{}\", expected the name or number of one of {} classes: {}{}", node, label,
                              classes.size(), fmt::join(listed, ", "), listed.size() < classes.size() ? ", ..." : ""));
    }
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

}  // namespace unstarve
