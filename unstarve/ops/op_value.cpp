#include "unstarve/ops/op_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace unstarve {

std::string to_text(const OpValue& value) {
  return value.word.empty() ? fmt::format("{}", fmt::join(value.numbers, ",")) : value.word;
}

std::string to_text(const OpParams& params) {
  std::string text;
  for (const auto& [name, value] : params) text += fmt::format(" {}={}", name, to_text(value));
  return text;
}

}  // namespace unstarve
