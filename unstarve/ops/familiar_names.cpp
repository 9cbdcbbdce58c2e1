#include "unstarve/ops/familiar_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/ops/operations.h"

namespace unstarve {

OpSpec with_own_names(OpSpec operation) {
  std::string& name = operation.name;
  auto& params = operation.params;
  if (auto chance = params.extract("p")) {
    chance.key() = "probability";
    if (!params.insert(std::move(chance)).inserted)
      throw argument_error("operation {}: found both p and probability; expected one of them", name);
  }
  const std::vector<OperationInfo> all = operations();
  if (std::ranges::any_of(all, [&](const OperationInfo& info) { return info.name == name; })) return operation;
  if (name == "flip") {
    name = "horizontal_flip";
  } else if (name == "random_erasing") {
    name = "erasing";
  } else if (name == "random_crop") {
    name = "pad_crop";
    params.try_emplace("padding", OpValue{0});
  } else if (name == "random_rotation") {
    name = "rotation";
    params.try_emplace("interpolation", OpValue{"nearest"});
    if (const auto degrees = params.find("degrees"); degrees == params.end())
      throw argument_error("operation random_rotation: found no degrees; expected a number or [low, high]");
    else if (std::vector<double>& numbers = degrees->second.numbers; numbers.size() == 1)
      numbers = {-numbers[0], numbers[0]};
  } else if (name == "auto_augment") {
    const auto policy = params.extract("policy");
    name = "auto_augment_" + (policy ? policy.mapped().word : "imagenet");
  }
  return operation;
}

std::string_view use_instead(std::string_view operation) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kInstead{{
      {"hflip", ". Use horizontal_flip."},
      {"vflip", ". Use vertical_flip."},
      {"normalize", ". Use output: {mean: [...], std: [...]}."},
      {"normalise", ". Use output: {mean: [...], std: [...]}."},
      {"to_tensor", ". Remove it: images are float32 by default; see output."},
  }};
  const auto found = std::ranges::find(kInstead, operation, [](const auto& row) { return row.first; });
  return found == kInstead.end() ? std::string_view() : found->second;
}

}  // namespace unstarve
