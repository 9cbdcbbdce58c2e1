#include "unstarve/ops/base/parameters.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "unstarve/core/format_error.h"
#include "unstarve/core/suggestion.h"

namespace unstarve {
namespace {

// The innermost DescribedParameters of this thread.
thread_local DescribedParameters* described = nullptr;

bool is_integer_in(double value, int low, int high) {
  return value >= low && value <= high && value == std::floor(value);
}

}  // namespace

DescribedParameters::DescribedParameters(std::string_view operation)
    : operation_(operation), outer_(std::exchange(described, this)) {}
DescribedParameters::~DescribedParameters() { described = outer_; }

Parameters::Parameters(std::string_view operation, const OpParams& params,
                       std::initializer_list<std::string_view> known)
    : operation_(operation), params_(params) {
  for (const auto& [name, values] : params) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw argument_error("operation {}: unknown parameter '{}'; it takes: {}{}", operation, name,
                           fmt::join(known, ", "), suggestion(name, known));
    }
  }
}

DescribedParameters* Parameters::describing() const {
  return described != nullptr && described->operation_ == operation_ ? described : nullptr;
}

const OpValue* Parameters::find(std::string_view name) const {
  const auto it = params_.find(std::string(name));
  return it == params_.end() ? nullptr : &it->second;
}

void Parameters::fail(std::string_view name, const OpValue& found, std::string_view expected) const {
  const std::string text = found.scheduled()    ? "a schedule"
                           : found.word.empty() ? fmt::format("[{}]", fmt::join(found.numbers, ", "))
                                                : '"' + found.word + '"';
  throw argument_error("operation {}: parameter '{}' is {}; expected {}", operation_, name, text, expected);
}

bool Parameters::has_two(std::string_view name) const {
  const OpValue* const value = find(name);
  return value != nullptr && value->numbers.size() == 2;
}

void Parameters::require(std::string_view name) const {
  if (find(name) == nullptr) {
    throw argument_error("operation {}: parameter '{}' is missing", operation_, name);
  }
}

int Parameters::integer(std::string_view name, int fallback, int low, int high) const {
  if (auto* const described = describing())
    described->list_.push_back({std::string(name), false, ParameterInfo::Integer{fallback, low, high}});
  const OpValue* const value = find(name);
  if (value == nullptr) return fallback;
  const auto& values = value->numbers;
  if (values.size() != 1 || !is_integer_in(values.front(), low, high)) {
    fail(name, *value, fmt::format("an integer from {} to {}", low, high));
  }
  return static_cast<int>(values.front());
}

double Parameters::number(std::string_view name, double fallback, double low, double high) const {
  if (auto* const described = describing())
    described->list_.push_back({std::string(name), false, ParameterInfo::Number{fallback, low, high}});
  const OpValue* const value = find(name);
  if (value == nullptr) return fallback;
  const auto& values = value->numbers;
  if (values.size() != 1 || !(values.front() >= low && values.front() <= high)) {
    fail(name, *value, fmt::format("a number from {} to {}", low, high));
  }
  return values.front();
}

std::pair<double, double> Parameters::range(std::string_view name, std::pair<double, double> fallback,
                                            double high) const {
  if (auto* const described = describing())
    described->list_.push_back({std::string(name), false, ParameterInfo::Range{fallback, high}});
  const OpValue* const value = find(name);
  if (value == nullptr) return fallback;
  const auto& values = value->numbers;
  if (values.size() != 2 || !(values.front() > 0 && values.front() <= values.back() && values.back() <= high)) {
    fail(name, *value, fmt::format("two numbers, the first not above the second, over 0 and up to {}", high));
  }
  return {values.front(), values.back()};
}

std::pair<double, double> Parameters::interval(std::string_view name, std::pair<double, double> fallback, double low,
                                               double high) const {
  if (auto* const described = describing())
    described->list_.push_back({std::string(name), false, ParameterInfo::Interval{fallback, low, high}});
  const OpValue* const value = find(name);
  if (value == nullptr) return fallback;
  const auto& values = value->numbers;
  const bool sound = (values.size() == 1 || values.size() == 2) && values.front() >= low &&
                     values.front() <= values.back() && values.back() <= high;
  if (!sound) {
    fail(name, *value,
         fmt::format("a number, or two of which the first is not above the second, from {} to {}", low, high));
  }
  return {values.front(), values.back()};
}

IntegersOrWord Parameters::integers(std::string_view name, const ParameterInfo::Integers& takes) const {
  if (auto* const described = describing()) described->list_.push_back({std::string(name), false, takes});
  if (takes.fallback.empty() && takes.words.empty())
    throw internal_error("operation {}: '{}' has no fallback", operation_, name);
  const OpValue* const value = find(name);
  if (value == nullptr) return {takes.fallback, takes.fallback.empty() ? takes.words.front() : ""};
  if (std::find(takes.words.begin(), takes.words.end(), value->word) != takes.words.end()) return {{}, value->word};
  const auto& numbers = value->numbers;
  const bool sound =
      std::find(takes.counts.begin(), takes.counts.end(), numbers.size()) != takes.counts.end() &&
      std::all_of(numbers.begin(), numbers.end(), [&](double n) { return is_integer_in(n, takes.low, takes.high); });
  if (!sound)
    fail(name, *value,
         fmt::format("{} integers from {} to {}{}{}", fmt::join(takes.counts, " or "), takes.low, takes.high,
                     takes.words.empty() ? "" : ", or one of ", fmt::join(takes.words, ", ")));
  return {std::vector<int>(numbers.begin(), numbers.end()), ""};
}

Size Parameters::size(std::string_view name) const {
  if (auto* const described = describing()) {
    described->list_.push_back({std::string(name), true, ParameterInfo::Sides{1, kMaxSize}});
    return {1, 1};
  }
  require(name);
  const OpValue& value = *find(name);
  const auto& values = value.numbers;
  const bool sound = (values.size() == 1 || values.size() == 2) && is_integer_in(values.front(), 1, kMaxSize) &&
                     is_integer_in(values.back(), 1, kMaxSize);
  if (!sound) fail(name, value, fmt::format("one side, or height and width, from 1 to {} pixels", kMaxSize));
  return {static_cast<int>(values.back()), static_cast<int>(values.front())};
}

std::size_t Parameters::choice(std::string_view name, std::size_t fallback,
                               std::initializer_list<std::string_view> words) const {
  const auto* const begin = words.begin();
  if (auto* const described = describing())
    described->list_.push_back(
        {std::string(name), false,
         ParameterInfo::Choice{std::string(begin[fallback]), std::vector<std::string>(words.begin(), words.end())}});
  const OpValue* const value = find(name);
  if (value == nullptr) return fallback;
  const auto* const found = std::find(begin, words.end(), value->word);
  if (found == words.end()) fail(name, *value, fmt::format("one of {}", fmt::join(words, ", ")));
  return static_cast<std::size_t>(found - begin);
}

std::string Parameters::text(std::string_view name, const std::string& example) const {
  if (auto* const described = describing()) {
    described->list_.push_back({std::string(name), true, ParameterInfo::Text{example}});
    return "";
  }
  require(name);
  const OpValue& value = *find(name);
  if (value.word.empty()) fail(name, value, fmt::format("a text such as \"{}\"", example));
  return value.word;
}

bool Parameters::flag(std::string_view name, bool fallback) const {
  if (auto* const described = describing())
    described->list_.push_back({std::string(name), false, ParameterInfo::Flag{fallback}});
  const OpValue* const value = find(name);
  if (value == nullptr) return fallback;
  if (value->word != "true" && value->word != "false") fail(name, *value, "true or false");
  return value->word == "true";
}

}  // namespace unstarve
