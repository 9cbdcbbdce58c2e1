#include "unstarve/ops/base/op_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace unstarve {

std::string to_text(const OpValue& value) {
  if (value.scheduled()) {
    std::string text;
    for (const auto& [epoch, numbers] : value.schedule.points)
      text += fmt::format("{}{}: {}", text.empty() ? "{" : ", ", epoch, fmt::join(numbers, ","));
    if (value.schedule.linear) text += ", linear";
    if (value.schedule.multiple > 0) text += fmt::format(", multiple {}", value.schedule.multiple);
    return text + "}";
  }
  return value.word.empty() ? fmt::format("{}", fmt::join(value.numbers, ",")) : value.word;
}

std::string to_text(const OpParams& params) {
  std::string text;
  for (const auto& [name, value] : params) text += fmt::format(" {}={}", name, to_text(value));
  return text;
}

}  // namespace unstarve
