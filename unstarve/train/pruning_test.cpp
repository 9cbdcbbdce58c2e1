#include "unstarve/train/pruning.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

std::string message_of(const PruneSettings& settings) {
  try {
    check_pattern(settings);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kArgument);
    return error.what();
  }
  return "accepted";
}

// The steps of a run of `total` steps, with an update after every `accumulate` of them, after which weights are chosen.
std::vector<std::int64_t> chosen_steps(const PruneSettings& settings, std::int64_t total, std::int64_t accumulate = 1) {
  std::vector<std::int64_t> steps;
  for (std::int64_t step = accumulate; step <= total; step += accumulate) {
    const double share = static_cast<double>(step) / static_cast<double>(total);
    if (choice_due(settings, {step, step - accumulate, share}) && share < settings.sparsity_ramp[1])
      steps.push_back(step);
  }
  return steps;
}

}  // namespace

TEST_CASE("sparsity rises by a cubic from the begin of the ramp to its end") {
  const PruneSettings settings{.sparsity = 0.8, .sparsity_ramp = {0.2, 0.6}};
  CHECK(sparsity_at(settings, 0) == 0);
  CHECK(sparsity_at(settings, 0.2) == 0);
  CHECK(sparsity_at(settings, 0.3) == Approx(0.8 * (1 - 0.75 * 0.75 * 0.75)));
  CHECK(sparsity_at(settings, 0.4) == Approx(0.8 * 0.875));
  CHECK(sparsity_at(settings, 0.6) == 0.8);
  CHECK(sparsity_at(settings, 1) == 0.8);
}

TEST_CASE("a ramp without length prunes in one step") {
  const PruneSettings settings{.sparsity = 0.8, .sparsity_ramp = {0.5, 0.5}};
  CHECK(sparsity_at(settings, 0.499) == 0);
  CHECK(sparsity_at(settings, 0.5) == 0.8);
  CHECK_FALSE(choice_due(settings, {499, 498, 0.499}));
  CHECK(choice_due(settings, {500, 499, 0.5}));
}

TEST_CASE("the final sparsity of a pattern follows from it") {
  CHECK(final_sparsity({.pattern = "2:4"}) == 0.5);
  CHECK(final_sparsity({.sparsity = 0.75, .pattern = "4:16"}) == 0.75);
  CHECK(final_sparsity({.sparsity = 0.3}) == 0.3);
  const PrunePattern pattern = pattern_of({.pattern = "1:4"});
  CHECK(pattern.keep == 1);
  CHECK(pattern.of == 4);
  CHECK(pattern_of({.sparsity = 0.3}).any_weights());
}

TEST_CASE("patterns that are no N:M with N below M are rejected, with those that are supported") {
  for (const char* text : {"rows", "", "2", "2:", ":4", "4:4", "5:4", "0:4", "-1:4", "2:4x", "2.5:4", "2 :4", "1:65"}) {
    CAPTURE(text);
    CHECK_THAT(message_of({.pattern = text}), Catch::Contains(std::string("found \"") + text + "\"") &&
                                                  Catch::Contains("expected any, channels, or N:M") &&
                                                  Catch::Contains("2:4, 1:2 or 4:8"));
  }
  CHECK(message_of({.pattern = "1:64"}) == "accepted");
  CHECK(message_of({}) == "accepted");
  CHECK(message_of({.sparsity = 0.5, .pattern = "channels"}) == "accepted");
}

TEST_CASE("a sparsity that contradicts the pattern is rejected") {
  CHECK_THAT(message_of({.sparsity = 0.6, .pattern = "2:4"}),
             Catch::Contains("found 2:4 with the sparsity 0.6; expected 0.5"));
  CHECK(message_of({.sparsity = 0.5, .pattern = "2:4"}) == "accepted");
  CHECK(message_of({.sparsity = 0.667, .pattern = "1:3"}) == "accepted");
}

TEST_CASE("weights are chosen 20 times in short ramps, every 100 steps in long ones, and as requested") {
  PruneSettings settings{.sparsity = 0.5};          // half of the run
  CHECK(chosen_steps(settings, 400).size() == 19);  // and at the end of the ramp
  CHECK(chosen_steps(settings, 400)[0] == 50);
  CHECK(chosen_steps(settings, 400)[1] == 60);
  CHECK(chosen_steps(settings, 20).size() == 9);  // steps 3 to 11
  CHECK(chosen_steps(settings, 100'000).size() == 499);
  settings.every = 7;
  CHECK(chosen_steps(settings, 40) == std::vector<std::int64_t>{7, 14, 21});
  CHECK(chosen_steps(settings, 40, 4) == std::vector<std::int64_t>{8, 16});  // the updates after 7 and 14
}

TEST_CASE("from the end of the ramp on, the choice is always due, so that the final sparsity is reached") {
  const PruneSettings settings{.sparsity = 0.5, .every = 1000};
  CHECK_FALSE(choice_due(settings, {29, 28, 0.58}));
  CHECK(choice_due(settings, {30, 29, 0.6}));
  CHECK(choice_due(settings, {50, 49, 1}));
}

TEST_CASE("the number of pruned weights is rounded to the nearest") {
  CHECK(pruned_count(1000, 0.5) == 500);
  CHECK(pruned_count(9, 1 - 1.0 / 3) == 6);
  CHECK(pruned_count(10, 0.04) == 0);
}

TEST_CASE("the text of the settings names what changes the weights") {
  CHECK(to_text(PruneSettings{}) == "none");
  CHECK(to_text(PruneSettings{.sparsity = 0.5}) == "0.5 between 0.1 and 0.6 of the run");
  CHECK(to_text(PruneSettings{.pattern = "2:4", .every = 10}) == "2:4 between 0.1 and 0.6 of the run, every 10 steps");
}

TEST_CASE("a result sums its layers") {
  const PruneResult result{{{"a", 10, 5}, {"b", 30, 10}}, {}, 0, 0};
  CHECK(result.weights() == 40);
  CHECK(result.zeros() == 15);
}

}  // namespace unstarve
