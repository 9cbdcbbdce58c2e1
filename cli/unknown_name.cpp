#include "unknown_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "command.h"
#include "unstarve/core/suggestion.h"

namespace unstarve::cli {
namespace {

constexpr std::size_t kListed = 30;  // names in a message; of more, only similar ones

// Names of other programs for options of this one.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kAliases{{{"--lr", "--learning-rate"},
                                                                                 {"--image-size", "--size"},
                                                                                 {"--batch-size", "--batch"},
                                                                                 {"--bs", "--batch"},
                                                                                 {"--workers", "--threads"},
                                                                                 {"--num-workers", "--threads"},
                                                                                 {"--wd", "--weight-decay"},
                                                                                 {"--arch", "--model"},
                                                                                 {"--output", "--out"}}};

// The names at the least distance from `word`; none if that is more than a third of its letters.
std::vector<std::string_view> nearest(std::string_view word, const std::vector<std::string_view>& names) {
  std::size_t least = std::max<std::size_t>(word.size() / 3, 1);
  std::vector<std::string_view> found;
  for (const std::string_view name : names) {
    const std::size_t distance = edit_distance(word, name);
    if (distance > least) continue;
    if (distance < least) found.clear();
    least = distance;
    found.push_back(name);
  }
  return found;
}

std::string describe(std::string_view what, std::string_view word, const std::vector<std::string_view>& names) {
  const std::vector<std::string_view> meant = nearest(word, names);
  if (!meant.empty()) return fmt::format("{} {}; did you mean {}?", what, word, fmt::join(meant, " or "));
  if (names.size() > kListed) return fmt::format("{} {}", what, word);
  return fmt::format("{} {}; expected one of {}", what, word, fmt::join(names, ", "));
}

}  // namespace

std::string unknown_name(std::span<const std::string_view> words) {
  std::vector<std::string_view> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  if (words.empty()) return fmt::format("expected a command: {}", fmt::join(names, ", "));
  if (words.front().starts_with('-')) return "";
  const auto found = std::ranges::find(names, words.front());
  if (found == names.end()) return describe("unknown command", words.front(), names);

  const Command& command = commands()[static_cast<std::size_t>(found - names.begin())];
  std::vector<std::string_view> options{"--help"};
  for (const Option& option : command.options)
    if (!option.positional()) options.emplace_back(option.name);
  for (const std::string_view word : words.subspan(1)) {
    const std::string_view name = word.substr(0, word.find('='));
    if (name == "--") return "";  // no options follow
    if (!name.starts_with("--") || std::ranges::find(options, name) != options.end()) continue;
    for (const auto& [alias, option] : kAliases)
      if (name == alias && std::ranges::find(options, option) != options.end())
        return fmt::format("{} has no option {}; did you mean {}?", command.name, name, option);
    return describe(fmt::format("{} has no option", command.name), name, options);
  }
  return "";
}

}  // namespace unstarve::cli
