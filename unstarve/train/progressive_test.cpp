#include "unstarve/train/progressive.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/schedule.h"

namespace unstarve {
namespace {

TrainSettings with_size(int first, int full, std::vector<double> ramp = {0.4, 0.8}) {
  TrainSettings settings;
  settings.image_size = full;
  settings.progressive.image_size = first;
  settings.progressive.image_size_ramp = std::move(ramp);
  return settings;
}

std::vector<int> sizes(const TrainSettings& settings, std::uint32_t epochs) {
  std::vector<int> all;
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) all.push_back(values_at(settings, epoch, epochs).image_size);
  return all;
}

std::vector<OpSpec> progressive(const std::vector<OpSpec>& operations, const TrainSettings& settings,
                                std::uint32_t epochs) {
  return progressive_operations(operations, {settings.image_size, 1, 1}, phases_of(settings, epochs));
}

std::string text_at(const OpSpec& operation, std::uint32_t epoch) {
  const OpSpec now = at_epoch(operation, epoch);
  return now.name + to_text(now.params);
}

}  // namespace

TEST_CASE("the size rises in multiples between the ends of the ramp") {
  CHECK(sizes(with_size(128, 224), 10) == std::vector{128, 128, 128, 128, 128, 160, 192, 224, 224, 224});
  CHECK(sizes(with_size(128, 176), 5) == std::vector{128, 128, 128, 160, 176});
  CHECK(sizes(with_size(16, 32), 6) == std::vector{16, 16, 16, 24, 32, 32});
  // As ffcv-imagenet: 160 px in the first three quarters of 16 epochs.
  const std::vector<int> ffcv = sizes(with_size(160, 192, {0.72, 0.86}), 16);
  CHECK(std::count(ffcv.begin(), ffcv.end(), 160) == 12);
  CHECK(std::count(ffcv.begin(), ffcv.end(), 192) == 4);
  TrainSettings fine = with_size(100, 200, {0, 1});
  fine.progressive.multiple = 10;
  CHECK(sizes(fine, 5) == std::vector{100, 130, 150, 180, 200});
}

TEST_CASE("the last epoch has the full values, and the first one the initial values") {
  for (const std::vector<double>& ramp : {std::vector<double>{0, 1}, {0.4, 0.8}, {0.5, 0.5}, {1, 1}}) {
    TrainSettings settings = with_size(64, 128, ramp);
    settings.progressive.augmentation = 0.3;
    settings.progressive.augmentation_ramp = ramp;
    settings.progressive.samples = 0.33;
    settings.progressive.samples_ramp = ramp;
    for (const std::uint32_t epochs : {2U, 3U, 7U, 100U}) {
      CHECK(values_at(settings, 0, epochs) == EpochValues{64, 0.3, 0.33});
      CHECK(values_at(settings, epochs - 1, epochs) == EpochValues{128, 1, 1});
    }
  }
  CHECK(values_at(with_size(64, 128), 0, 1) == EpochValues{128, 1, 1});
  CHECK(values_at(with_size(64, 128, {0, 0}), 0, 9) == EpochValues{128, 1, 1});
}

TEST_CASE("strengths and shares are rounded, so that a long run has few phases") {
  TrainSettings settings;
  settings.progressive.augmentation = 0.3;
  settings.progressive.samples = 0.5;
  settings.progressive.samples_ramp = {0, 0.9};
  CHECK(values_at(settings, 6, 11).augmentation == 0.65);
  CHECK(values_at(settings, 1, 11).samples == 0.55);  // 0.5556
  CHECK(phases_of(settings, 1000).size() < 30);
}

TEST_CASE("phases are consecutive epochs with the same values") {
  const std::vector<TrainPhase> phases = phases_of(with_size(128, 176), 5);
  CHECK(phases == std::vector<TrainPhase>{{0, 3, {128, 1, 1}}, {3, 1, {160, 1, 1}}, {4, 1, {176, 1, 1}}});
  CHECK(to_text(phases[0]) == "epochs 1 to 3: 128 px");
  CHECK(to_text(TrainPhase{4, 1, {64, 0.5, 0.25}}) == "epoch 5: 64 px, augmentation 0.5, 25 % of the samples");
  CHECK(phases_of(TrainSettings(), 90) == std::vector<TrainPhase>{{0, 90, {224, 1, 1}}});
}

TEST_CASE("sizes of crops follow the image size") {
  const std::vector<OpSpec> given{{"resize", {{"size", {256}}}},
                                  {"center_crop", {{"size", {224}}}},
                                  {"cutout", {{"size", {56}}}},
                                  {"horizontal_flip", {}}};
  const auto operations = progressive(given, with_size(112, 224), 3);
  REQUIRE(operations.size() == 4);
  CHECK(text_at(operations[0], 0) == "resize size=128");
  CHECK(text_at(operations[1], 0) == "center_crop size=112");
  CHECK(text_at(operations[2], 0) == "cutout size=28");
  CHECK(operations[3] == given[3]);
  for (std::size_t i = 0; i < given.size(); ++i) CHECK(at_epoch(operations[i], 2) == given[i]);
  CHECK_NOTHROW(check_sizes(operations, phases_of(with_size(112, 224), 3), {500, 300}));
  const auto crop = progressive({{"random_resized_crop", {{"size", {176}}}}}, with_size(128, 176), 5);
  CHECK(to_text(crop[0].params) == " size={0: 128, 3: 160, 4: 176}");
}

TEST_CASE("the size of an added operation follows the image size") {
  add_operation({"progressive_tile", "a crop", [](const OpParams& params) {
                   return make_operation({"center_crop", params});
                 }});
  const auto operations =
      progressive({{"resize", {{"size", {256}}}}, {"progressive_tile", {{"size", {224}}}}}, with_size(112, 224), 3);
  CHECK(text_at(operations[1], 0) == "progressive_tile size=112");
}

TEST_CASE("thumbnails are resized after all operations") {
  const std::vector<OpSpec> given{{"pad_crop", {{"size", {32}}, {"padding", {4}}}}, {"horizontal_flip", {}}};
  const auto operations = progressive(given, with_size(16, 32), 4);
  REQUIRE(operations.size() == 3);
  CHECK(operations[0] == given[0]);
  CHECK(operations[1] == given[1]);
  CHECK(text_at(operations[2], 0) == "resize size=16,16");
  CHECK(text_at(operations[2], 3) == "resize size=32,32");
  CHECK_NOTHROW(check_sizes(operations, phases_of(with_size(16, 32), 4), {32, 32}));
}

TEST_CASE("the strength changes parameters, and schedules of the operations remain") {
  TrainSettings settings = with_size(0, 64);
  settings.progressive.augmentation = 0.5;
  OpSpec policy{"rand_augment", {{"magnitude", {}}}};
  policy.params["magnitude"].schedule.points = {{0, {4}}, {1, {8}}, {5, {20}}};
  const auto operations = progressive({{"random_resized_crop", {{"size", {64}}}}, policy}, settings, 4);
  CHECK(to_text(at_epoch(operations[0], 0).params.at("scale")) == "0.54,1");
  CHECK(to_text(at_epoch(operations[0], 3).params.at("scale")) == "0.08,1");
  CHECK(at_epoch(operations[1], 0).params.at("magnitude").numbers[0] == 2);
  CHECK(at_epoch(operations[1], 1).params.at("magnitude").numbers[0] == 4);
  CHECK(at_epoch(operations[1], 3).params.at("magnitude").numbers[0] == 8);
  CHECK(at_epoch(operations[1], 5).params.at("magnitude").numbers[0] == 20);  // after a longer run
  for (const OpSpec& operation : operations) CHECK_NOTHROW(check_schedules(operation));
  const std::vector<OpSpec> mixup{{"mixup", {{"alpha", {0.2}}}}};
  const auto mixed = progressive_batch_operations(mixup, phases_of(settings, 4));
  CHECK(at_epoch(mixed[0], 0).params.at("probability").numbers[0] == 0.5);
  CHECK(at_epoch(mixed[0], 3).params.at("probability").numbers[0] == 1);
}

TEST_CASE("operations that make other sizes are an error") {
  const TrainSettings settings = with_size(64, 128);
  const auto operations = progressive({{"random_resized_crop", {{"size", {100, 120}}}}}, settings, 4);
  CHECK_THROWS_WITH(check_sizes(operations, phases_of(settings, 4), {200, 200}),
                    Catch::Contains("make images of 60x50 px in epoch 1; expected 64x64"));
}

}  // namespace unstarve
