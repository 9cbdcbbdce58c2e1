#include "unstarve/ops/strength.h"

#include <catch2/catch.hpp>

#include <variant>

#include "unstarve/ops/batch/batch_operation.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/test_support.h"

namespace unstarve {
namespace {

using Numbers = std::vector<double>;

Numbers default_of(const ParameterInfo& parameter) {
  if (const auto* number = std::get_if<ParameterInfo::Number>(&parameter.kind)) return {number->fallback};
  if (const auto* integer = std::get_if<ParameterInfo::Integer>(&parameter.kind))
    return {static_cast<double>(integer->fallback)};
  if (const auto* range = std::get_if<ParameterInfo::Range>(&parameter.kind))
    return {range->fallback.first, range->fallback.second};
  if (const auto* interval = std::get_if<ParameterInfo::Interval>(&parameter.kind))
    return {interval->fallback.first, interval->fallback.second};
  const auto& integers = std::get<ParameterInfo::Integers>(parameter.kind);
  return {integers.fallback.begin(), integers.fallback.end()};
}

Numbers numbers(const OpSpec& spec, double strength, const char* parameter) {
  return at_strength(spec, strength).params.at(parameter).numbers;
}

}  // namespace

TEST_CASE("at full strength an operation has its values, with the defaults written out") {
  int scaled = 0;
  for (const OperationInfo& info : operations()) {
    CAPTURE(std::string(info.name));
    const OpSpec spec = testing::defaults(info.name);
    const OpSpec full = at_strength(spec, 1);
    const std::vector<ParameterInfo> parameters = parameters_of(info.name);
    for (const auto& [name, value] : full.params) {
      if (spec.params.contains(name)) continue;
      ++scaled;
      const auto found = std::find_if(parameters.begin(), parameters.end(),
                                      [&name = name](const ParameterInfo& p) { return p.name == name; });
      REQUIRE(found != parameters.end());
      CHECK(value.numbers == default_of(*found));
    }
    CHECK(make_operation(full) != nullptr);
  }
  CHECK(scaled == 33);
}

TEST_CASE("every strength makes a valid operation") {
  for (const double strength : {0.0, 0.05, 0.5, 0.95}) {
    for (const OperationInfo& info : operations())
      CHECK_NOTHROW(make_operation(at_strength(testing::defaults(info.name), strength)));
    for (const BatchOperationInfo& info : batch_operations())
      CHECK_NOTHROW(make_batch_operation(at_strength({std::string(info.name), {}}, strength)));
  }
}

TEST_CASE("values scale as documented") {
  const OpSpec crop{"random_resized_crop", {{"size", {64}}, {"scale", {0.2, 0.8}}}};
  CHECK(numbers(crop, 0.5, "scale") == Numbers{0.5, 0.8});
  CHECK(numbers(crop, 0, "scale") == Numbers{0.8, 0.8});
  CHECK(numbers(crop, 0, "ratio") == Numbers{1, 1});
  CHECK(numbers(crop, 0.5, "size") == Numbers{64});
  CHECK(numbers({"pad_crop", {{"size", {32}}, {"padding", {3, 4}}}}, 0.5, "padding") == Numbers{2, 2});
  CHECK(numbers({"brightness", {{"factor", {0.5, 2}}}}, 0.5, "factor") == Numbers{0.75, 1.5});
  CHECK(numbers({"brightness", {{"factor", {2}}}}, 0, "factor") == Numbers{1});
  CHECK(numbers({"hue", {}}, 0.5, "shift") == Numbers{-0.05, 0.05});
  CHECK(numbers({"rand_augment", {}}, 0.5, "magnitude") == Numbers{5});
  CHECK(numbers({"aug_mix", {}}, 0, "severity") == Numbers{1});
  CHECK(numbers({"erasing", {{"probability", {0.4}}}}, 0.25, "probability") == Numbers{0.1});
  CHECK(numbers({"mixup", {}}, 0.25, "probability") == Numbers{0.25});
}

TEST_CASE("flips, resizing and policies without a magnitude do not change") {
  for (const char* const name : {"horizontal_flip", "vertical_flip", "alternating_flip", "trivial_augment", "resize",
                                 "center_crop", "auto_augment_imagenet", "label_smoothing", "one_hot"}) {
    CAPTURE(std::string(name));
    const OpSpec spec{name, {{"size", {24}}}};
    CHECK(at_strength(spec, 0) == spec);
  }
}

}  // namespace unstarve
