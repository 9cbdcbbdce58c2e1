#include "unstarve/ops/schedule.h"

#include <catch2/catch.hpp>

#include "unstarve/core/error.h"
#include "unstarve/ops/operations.h"

namespace unstarve {
namespace {

OpValue scheduled(std::map<std::uint32_t, std::vector<double>> points, bool linear = false, double multiple = 0) {
  OpValue value;
  value.schedule = {std::move(points), linear, multiple};
  return value;
}

double number(const OpSpec& spec, const char* name, std::uint32_t epoch) {
  return at_epoch(spec, epoch).params.at(name).numbers.at(0);
}

TEST_CASE("a schedule of steps holds a value until the next one") {
  const OpSpec spec{"resize", {{"size", scheduled({{0, {128}}, {10, {160}}, {20, {224, 200}}})}}};
  CHECK(number(spec, "size", 0) == 128);
  CHECK(number(spec, "size", 9) == 128);
  CHECK(number(spec, "size", 10) == 160);
  CHECK(at_epoch(spec, 4'000'000'000U).params.at("size").numbers == std::vector<double>{224, 200});
  CHECK(changing_epochs({{spec}}) == std::vector<std::uint32_t>{10, 20});
  CHECK(follows_schedule(spec));
  CHECK_FALSE(follows_schedule(at_epoch(spec, 3)));
  CHECK(make_operation(at_epoch(spec, 12)) != nullptr);
}

TEST_CASE("a linear schedule is a ramp, in whole numbers for integer parameters") {
  const OpSpec factors{"brightness", {{"factor", scheduled({{0, {1, 1}}, {4, {0.6, 1.4}}}, true)}}};
  CHECK(at_epoch(factors, 1).params.at("factor").numbers == std::vector<double>{0.9, 1.1});
  CHECK(changing_epochs({{factors}}) == std::vector<std::uint32_t>{1, 2, 3, 4});
  const OpSpec policy{"rand_augment", {{"magnitude", scheduled({{0, {4}}, {10, {9}}}, true)}, {"changes", {1}}}};
  CHECK(number(policy, "magnitude", 1) == 5);
  CHECK(number(policy, "magnitude", 2) == 5);
  CHECK(number(policy, "magnitude", 9) == 9);
  CHECK(number(policy, "magnitude", 11) == 9);
  const OpSpec sizes{"random_resized_crop", {{"size", scheduled({{0, {160}}, {16, {224}}}, true, 32)}}};
  CHECK(changing_epochs({{sizes}}) == std::vector<std::uint32_t>{4, 12});
  CHECK(number(sizes, "size", 8) == 192);
  CHECK(changing_epochs(std::vector{policy, sizes}) == std::vector<std::uint32_t>{1, 3, 4, 5, 7, 9, 12});
}

TEST_CASE("invalid schedules are rejected with the expected values") {
  const auto rejected = [](const OpValue& value, const char* said) {
    CHECK_THROWS_WITH(check_schedules({"resize", {{"size", value}}}), Catch::Contains(said));
  };
  rejected(scheduled({{1, {8}}}), "operation resize: parameter 'size': its schedule starts at epoch 1");
  rejected(scheduled({{0, {8}}, {10'001, {9}}}), "epochs up to 10000");
  rejected(scheduled({{0, {8}}, {1, {9, 9}}}, true), "2 numbers for epoch 1, 1 for epoch 0");
  rejected(scheduled({{0, {8}}}, true, -1), "multiple is -1");
  check_schedules({"resize", {{"size", scheduled({{0, {8}}, {1, {9, 9}}})}}});
  CHECK_THROWS_WITH(make_operation({"resize", {{"size", scheduled({{0, {8}}})}}}),
                    Catch::Contains("parameter 'size' is a schedule; expected one side"));
}

}  // namespace
}  // namespace unstarve
