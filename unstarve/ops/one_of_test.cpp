#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "unstarve/core/error.h"
#include "unstarve/core/testing/error_message.h"
#include "unstarve/ops/operations.h"
#include "unstarve/ops/policy/one_of_choices.h"
#include "unstarve/ops/replace_means.h"
#include "unstarve/ops/test_chains.h"

namespace unstarve {
namespace {

using testing::Arrangement;
using testing::Chain;
using testing::Pixels;

OpSpec one_of(const char* choices) { return {"one_of", {{"choices", choices}}}; }

std::vector<std::uint8_t> made(const Chain& chain, const PixelView& pixels, std::uint64_t id) {
  testing::HostAndDevice run;
  REQUIRE(run.equal(chain, pixels, {5, 2, id}));
  return run.made();
}

TEST_CASE("each sample gets one of the operations, as often as its weight requires") {
  Random random(1, 0, 0, 0);
  const Pixels pixels({24, 20}, Arrangement::kInterleaved, random);
  const Chain chain({one_of("invert probability=1; 3 horizontal_flip probability=1")});
  const std::map<std::vector<std::uint8_t>, double> expected = {
      {made(Chain({{"invert", {{"probability", {1}}}}}), pixels.view, 0), 0.25},
      {made(Chain({{"horizontal_flip", {{"probability", {1}}}}}), pixels.view, 0), 0.75}};
  std::map<std::vector<std::uint8_t>, int> times;
  constexpr int kSamples = 2000;
  for (int id = 0; id < kSamples; ++id) ++times[made(chain, pixels.view, static_cast<std::uint64_t>(id))];
  REQUIRE(times.size() == 2);
  for (const auto& [image, share] : expected)
    CHECK(std::abs(times.at(image) - kSamples * share) < 5 * std::sqrt(kSamples * share * (1 - share)));
}

TEST_CASE("choices are read from text and written back") {
  const std::string text = "color_jitter brightness=0.4 hue=0; 2.5 gaussian_blur sigma=0.1,2; erasing value=mean";
  const std::vector<OneOfChoice> choices = parse_choices(text);
  REQUIRE(choices.size() == 3);
  CHECK(choices[1].weight == 2.5);
  CHECK(choices[1].operation.params.at("sigma").numbers == std::vector<double>{0.1, 2});
  CHECK(choices[2].operation.params.at("value").word == "mean");
  CHECK(to_text(choices) == text);
  std::vector<OpSpec> specs{one_of(text.c_str())};
  replace_means(specs, {{0.5F, 0.4F, 0}, {1, 1, 1}});
  CHECK(parse_choices(specs[0].params["choices"].word)[2].operation.params.at("value").numbers ==
        std::vector<double>{128, 102, 0});
}

TEST_CASE("names and parameters of other libraries are accepted in choices") {
  Random random(5, 0, 0, 0);
  const Pixels pixels({30, 20}, Arrangement::kInterleaved, random);
  for (std::uint64_t id = 0; id < 20; ++id) {
    CHECK(made(Chain({one_of("flip p=1; random_rotation degrees=5")}), pixels.view, id) ==
          made(Chain({one_of("horizontal_flip probability=1; rotation degrees=-5,5 interpolation=nearest")}),
               pixels.view, id));
  }
  std::vector<OpSpec> specs{one_of("random_erasing p=1 value=mean")};
  replace_means(specs, {{0.5F, 0.4F, 0}, {1, 1, 1}});
  CHECK(specs == std::vector<OpSpec>{one_of("erasing probability=1 value=128,102,0")});
}

TEST_CASE("operations that change the size and invalid texts are rejected") {
  const auto why = [](const char* choices) {
    return testing::error_message([&] { return make_operation(one_of(choices)); }, ErrorKind::kArgument);
  };
  CHECK_THAT(why("invert; resize size=8"), Catch::Contains("found resize, which changes the size"));
  CHECK_THAT(why("invert; random_resized_crop size=8"), Catch::Contains("random_resized_crop, which changes"));
  for (int side = 1; side < 200; ++side)
    CHECK_THAT(why(fmt::format("resize size={}", side).c_str()), Catch::Contains("changes the size"));
  for (const char* weight : {"inf", "infinity", "nan", "1e308", "0"})
    CHECK_THAT(why(fmt::format("{} invert; horizontal_flip", weight).c_str()), Catch::Contains(weight));
  CHECK_THAT(why("invrt"), Catch::Contains("unknown operation 'invrt'"));
  CHECK_THAT(why("invert probability"), Catch::Contains("found 'probability' in choices"));
  CHECK_THAT(why("-1 invert"), Catch::Contains("found '-1 invert'"));
  CHECK_THAT(why(" ; "), Catch::Contains("expected names with parameters"));
  CHECK_THROWS_WITH(make_operation({"one_of", {}}), Catch::Contains("choices"));
  CHECK_THROWS_WITH(make_operation({"one_of", {{"choices", {3}}}}), Catch::Contains("a text such as"));
}

}  // namespace
}  // namespace unstarve
