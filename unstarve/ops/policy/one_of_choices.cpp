#include "unstarve/ops/policy/one_of_choices.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "unstarve/core/format_error.h"

namespace unstarve {
namespace {

constexpr double kMaxWeight = 1e100;  // the sum of all is finite

[[noreturn]] void reject(std::string_view found) {
  throw argument_error(
      "operation one_of: found '{}' in choices; expected names with parameters, separated by ';': color_jitter "
      "brightness=0.4; gaussian_blur sigma=0.1,2",
      found);
}

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// The parts between separators that are not empty.
std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

OpValue value_in(std::string_view text) {
  OpValue value;
  for (const std::string_view part : split(text, ",")) {
    const std::optional<double> number = number_in(part);
    if (!number) {
      value = OpValue();
      value.word = text;
      return value;
    }
    value.numbers.push_back(*number);
  }
  return value;
}

}  // namespace

std::vector<OneOfChoice> parse_choices(const std::string& text) {
  std::vector<OneOfChoice> choices;
  for (const std::string_view one : split(text, ";")) {
    std::vector<std::string_view> words = split(one, " \t\n");
    if (words.empty()) continue;
    OneOfChoice choice;
    if (const std::optional<double> weight = number_in(words.front())) {
      if (!(*weight > 0) || *weight > kMaxWeight) reject(one);
      choice.weight = *weight;
      words.erase(words.begin());
    }
    if (words.empty() || words.front().find('=') != std::string_view::npos) reject(one);
    choice.operation.name = words.front();
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::size_t equals = words[i].find('=');
      if (equals == std::string_view::npos || equals == 0 || equals + 1 == words[i].size()) reject(words[i]);
      choice.operation.params[std::string(words[i].substr(0, equals))] = value_in(words[i].substr(equals + 1));
    }
    choices.push_back(std::move(choice));
  }
  if (choices.empty()) reject(text);
  return choices;
}

std::string to_text(const std::vector<OneOfChoice>& choices) {
  std::string text;
  for (const OneOfChoice& choice : choices) {
    const std::string weight = choice.weight == 1 ? "" : fmt::format("{} ", choice.weight);
    text += (text.empty() ? "" : "; ") + weight + choice.operation.name + to_text(choice.operation.params);
  }
  return text;
}

}  // namespace unstarve
