#include "unstarve/ops/familiar_names.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/ops/operations.h"

namespace unstarve {

TEST_CASE("names of other libraries become own names") {
  CHECK(with_own_names({"flip", {{"p", {0.25}}}}) == OpSpec{"horizontal_flip", {{"probability", {0.25}}}});
  CHECK(with_own_names({"random_erasing", {}}) == OpSpec{"erasing", {}});
  CHECK(with_own_names({"random_crop", {{"size", {32}}}}) == OpSpec{"pad_crop", {{"size", {32}}, {"padding", {0}}}});
  CHECK(with_own_names({"random_crop", {{"size", {32}}, {"padding", {4}}}}).params.at("padding") == OpValue{4});
  const OpSpec rotated{"rotation", {{"degrees", {-10, 10}}, {"interpolation", "nearest"}}};
  CHECK(with_own_names({"random_rotation", {{"degrees", {10}}}}) == rotated);
  CHECK(with_own_names({"random_rotation", {{"degrees", {-10, 10}}}}) == rotated);
  CHECK(with_own_names({"auto_augment", {}}) == OpSpec{"auto_augment_imagenet", {}});
  CHECK(with_own_names({"auto_augment", {{"policy", "svhn"}}}) == OpSpec{"auto_augment_svhn", {}});
  for (const OpSpec& operation :
       {OpSpec{"flip", {}}, OpSpec{"random_erasing", {}}, OpSpec{"random_crop", {{"size", {8}}}},
        OpSpec{"random_rotation", {{"degrees", {1}}}}, OpSpec{"auto_augment", {{"policy", "cifar10"}}}})
    CHECK_NOTHROW(make_operation(with_own_names(operation)));
}

TEST_CASE("other names do not change") {
  for (const OperationInfo& info : operations()) CHECK(with_own_names({std::string(info.name), {}}).name == info.name);
  CHECK(with_own_names({"swirl", {{"size", {1}}}}) == OpSpec{"swirl", {{"size", {1}}}});
  CHECK_THROWS_WITH(with_own_names({"invert", {{"p", {1}}, {"probability", {1}}}}),
                    "operation invert: found both p and probability; expected one of them");
  CHECK_THROWS_WITH(with_own_names({"random_rotation", {}}), Catch::Contains("found no degrees"));
}

TEST_CASE("messages about names of other libraries name what to use instead") {
  const auto rejected = [](const char* name, const std::string& end) {
    CHECK_THROWS_WITH(make_operation({name, {}}), Catch::EndsWith(end));
  };
  rejected("hflip", ". Use horizontal_flip.");
  rejected("vflip", ". Use vertical_flip.");
  rejected("normalize", ". Use output: {mean: [...], std: [...]}.");
  rejected("to_tensor", "images are float32 by default; see output.");
  rejected("resise", ". Did you mean 'resize'?");
}

}  // namespace unstarve
