#include "unstarve/ops/parameters.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

// Sides of images that can come from a decoder reach 65,500; an operation's output must be of the same kind.
constexpr int kMaxSize = 65'500;

// Of this thread: what is described at the moment.
thread_local DescribedParameters* described = nullptr;

bool is_integer_in(double value, int low, int high) {
  return value >= low && value <= high && value == std::floor(value);
}

}  // namespace

DescribedParameters::DescribedParameters() { described = this; }
DescribedParameters::~DescribedParameters() { described = nullptr; }

Parameters::Parameters(std::string_view operation, const OpParams& params,
                       std::initializer_list<std::string_view> known)
    : operation_(operation), params_(params) {
  for (const auto& [name, values] : params) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error(ErrorKind::kArgument, fmt::format("operation {}: unknown parameter '{}'; it takes: {}", operation,
                                                    name, fmt::join(known, ", ")));
    }
  }
}

const std::vector<double>* Parameters::find(std::string_view name) const {
  const auto it = params_.find(std::string(name));
  return it == params_.end() ? nullptr : &it->second;
}

void Parameters::fail(std::string_view name, const std::vector<double>& found, const std::string& expected) const {
  throw Error(ErrorKind::kArgument, fmt::format("operation {}: parameter '{}' is [{}]; expected {}", operation_, name,
                                                fmt::join(found, ", "), expected));
}

bool Parameters::has_two(std::string_view name) const {
  const auto* values = find(name);
  return values != nullptr && values->size() == 2;
}

void Parameters::require(std::string_view name) const {
  if (find(name) == nullptr) {
    throw Error(ErrorKind::kArgument, fmt::format("operation {}: parameter '{}' is missing", operation_, name));
  }
}

int Parameters::integer(std::string_view name, int fallback, int low, int high) const {
  if (described != nullptr)
    described->list_.push_back({std::string(name), false, ParameterInfo::Integer{fallback, low, high}});
  const auto* values = find(name);
  if (values == nullptr) return fallback;
  if (values->size() != 1 || !is_integer_in(values->front(), low, high)) {
    fail(name, *values, fmt::format("an integer from {} to {}", low, high));
  }
  return static_cast<int>(values->front());
}

double Parameters::number(std::string_view name, double fallback, double low, double high) const {
  if (described != nullptr)
    described->list_.push_back({std::string(name), false, ParameterInfo::Number{fallback, low, high}});
  const auto* values = find(name);
  if (values == nullptr) return fallback;
  if (values->size() != 1 || !(values->front() >= low && values->front() <= high)) {
    fail(name, *values, fmt::format("a number from {} to {}", low, high));
  }
  return values->front();
}

std::pair<double, double> Parameters::range(std::string_view name, std::pair<double, double> fallback,
                                            double high) const {
  if (described != nullptr)
    described->list_.push_back({std::string(name), false, ParameterInfo::Range{fallback, high}});
  const auto* values = find(name);
  if (values == nullptr) return fallback;
  if (values->size() != 2 || !(values->front() > 0 && values->front() <= values->back() && values->back() <= high)) {
    fail(name, *values, fmt::format("two numbers, the first not above the second, over 0 and up to {}", high));
  }
  return {values->front(), values->back()};
}

std::pair<double, double> Parameters::interval(std::string_view name, std::pair<double, double> fallback, double low,
                                               double high) const {
  if (described != nullptr)
    described->list_.push_back({std::string(name), false, ParameterInfo::Interval{fallback, low, high}});
  const auto* values = find(name);
  if (values == nullptr) return fallback;
  const bool sound = (values->size() == 1 || values->size() == 2) && values->front() >= low &&
                     values->front() <= values->back() && values->back() <= high;
  if (!sound) {
    fail(name, *values,
         fmt::format("a number, or two of which the first is not above the second, from {} to {}", low, high));
  }
  return {values->front(), values->back()};
}

Size Parameters::size(std::string_view name) const {
  if (described != nullptr) {
    described->list_.push_back({std::string(name), true, ParameterInfo::Sides{1, kMaxSize}});
    return {1, 1};
  }
  require(name);
  const auto& values = *find(name);
  const bool sound = (values.size() == 1 || values.size() == 2) && is_integer_in(values.front(), 1, kMaxSize) &&
                     is_integer_in(values.back(), 1, kMaxSize);
  if (!sound) fail(name, values, fmt::format("one side, or height and width, from 1 to {} pixels", kMaxSize));
  return {static_cast<int>(values.back()), static_cast<int>(values.front())};
}

}  // namespace unstarve
