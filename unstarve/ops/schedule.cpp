#include "unstarve/ops/schedule.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "unstarve/core/format_error.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/operations.h"

namespace unstarve {
namespace {

// True if the operation accepts only integers for the parameter.
bool takes_whole(const OpSpec& spec, std::string_view parameter) {
  const std::vector<ParameterInfo> all = parameters_of(spec.name);
  return std::any_of(all.begin(), all.end(), [&](const ParameterInfo& info) {
    return info.name == parameter && (std::holds_alternative<ParameterInfo::Integer>(info.kind) ||
                                      std::holds_alternative<ParameterInfo::Integers>(info.kind) ||
                                      std::holds_alternative<ParameterInfo::Sides>(info.kind));
  });
}

// Precondition: check_schedules() accepts it.
std::vector<double> numbers_at(const OpSchedule& schedule, std::uint32_t epoch, bool whole) {
  const auto after = schedule.points.upper_bound(epoch);
  const auto& [from, before] = *std::prev(after);
  std::vector<double> numbers = before;
  if (!schedule.linear || after == schedule.points.end() || epoch == from) return numbers;
  const double part = static_cast<double>(epoch - from) / (after->first - from);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double& number = numbers[i];
    number += part * (after->second[i] - number);
    if (schedule.multiple > 0)
      number = std::round(number / schedule.multiple) * schedule.multiple;
    else if (whole)
      number = std::round(number);
  }
  return numbers;
}

}  // namespace

bool follows_schedule(const OpSpec& spec) {
  return std::any_of(spec.params.begin(), spec.params.end(), [](const auto& p) { return p.second.scheduled(); });
}

void check_schedules(const OpSpec& spec) {
  for (const auto& [name, value] : spec.params) {
    if (!value.scheduled()) continue;
    const auto reject = [&, &name = name](const std::string& what) {
      throw argument_error("operation {}: parameter '{}': {}", spec.name, name, what);
    };
    const auto& points = value.schedule.points;
    if (points.begin()->first != 0)
      reject(fmt::format("its schedule starts at epoch {}; expected a value for epoch 0", points.begin()->first));
    if (points.rbegin()->first > kMaxScheduledEpoch)
      reject(fmt::format("its schedule has a value for epoch {}; expected epochs up to {}", points.rbegin()->first,
                         kMaxScheduledEpoch));
    if (!(value.schedule.multiple >= 0 && std::isfinite(value.schedule.multiple)))
      reject(fmt::format("multiple is {}; expected a number of 0 or more", value.schedule.multiple));
    for (const auto& [epoch, numbers] : points)
      if (value.schedule.linear && numbers.size() != points.begin()->second.size())
        reject(fmt::format("{} numbers for epoch {}, {} for epoch 0; expected the same count, to interpolate",
                           numbers.size(), epoch, points.begin()->second.size()));
  }
}

OpSpec at_epoch(const OpSpec& spec, std::uint32_t epoch) {
  OpSpec fixed = spec;
  for (auto& [name, value] : fixed.params)
    if (value.scheduled()) value = numbers_at(value.schedule, epoch, value.schedule.linear && takes_whole(spec, name));
  return fixed;
}

std::vector<std::uint32_t> changing_epochs(std::span<const OpSpec> specs) {
  std::set<std::uint32_t> epochs;
  for (const OpSpec& spec : specs) {
    for (const auto& [name, value] : spec.params) {
      if (!value.scheduled()) continue;
      const OpSchedule& schedule = value.schedule;
      const bool whole = schedule.linear && takes_whole(spec, name);
      const auto& points = schedule.points;
      std::vector<double> before = points.begin()->second;
      const auto look = [&](std::uint32_t epoch) {
        std::vector<double> now = numbers_at(schedule, epoch, whole);
        if (now != before) epochs.insert(epoch);
        before = std::move(now);
      };
      if (schedule.linear) {
        for (std::uint32_t epoch = 1; epoch <= points.rbegin()->first; ++epoch) look(epoch);
      } else {
        for (auto point = std::next(points.begin()); point != points.end(); ++point) look(point->first);
      }
    }
  }
  return {epochs.begin(), epochs.end()};
}

}  // namespace unstarve
