// Choices for profiles of real runs (recorded/README.md) on various machines and for various consumers.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "unstarve/pipeline/autotune/choose.h"

namespace unstarve::autotune {
namespace {

Profile recorded(const std::string& name) {
  const std::filesystem::path here(__FILE__);
  // Tests run from the source root if __FILE__ is relative to it.
  const auto file = (here.is_absolute() ? here.parent_path() : std::filesystem::path("unstarve/pipeline/autotune")) /
                    "recorded" / (name + ".json");
  std::ifstream in(file);
  INFO(file);
  REQUIRE(in.good());
  return profile_from_json({std::istreambuf_iterator<char>(in), {}});
}

// The same run with a consumer that works `step_s` per batch.
Profile with_consumer(Profile profile, double step_s) {
  profile.consumer = {100, static_cast<std::int64_t>(100e9 * step_s), 100e12 * step_s * step_s, 0, 0, 0};
  return profile;
}

TEST_CASE("recorded: compute-bound samples get all cores for a fast consumer") {
  for (const char* const name : {"cifar", "photographs"})
    for (const int cores : {1, 2, 4}) {
      INFO(name << ' ' << cores);
      const Choice choice = choose(recorded(name), {.cores = double(cores)});
      CHECK(choice.settings.threads == cores);
      CHECK(choice.settings.read_ahead == 0);
      CHECK(choice.settings.prefetch <= 8);
    }
}

TEST_CASE("recorded: a slow training step needs one thread, a fast one several") {
  // One thread delivers 20,000 samples/s of CIFAR, more than a step of 100 ms with 512 samples needs.
  CHECK(choose(with_consumer(recorded("cifar"), 0.1), {.cores = 4}).settings.threads == 1);
  CHECK(choose(with_consumer(recorded("photographs"), 0.5), {.cores = 4}).settings.threads == 1);
  const Profile busy = with_consumer(recorded("photographs"), 0.016);  // 4000 samples/s
  int before = 0;
  for (const int cores : {1, 2, 4, 8}) {
    const Choice choice = choose(busy, {.cores = double(cores)});
    CHECK(choice.settings.threads >= before);
    CHECK(choice.settings.threads <= cores);
    before = choice.settings.threads;
  }
  CHECK(before > 2);
}

TEST_CASE("recorded: samples that sleep get more threads than cores, as many as the consumer needs") {
  const Profile sleeping = recorded("sleeping");
  const Choice most = choose(sleeping, {.cores = 2});
  CHECK(most.settings.threads > 32);
  // 64 samples of about 8 ms in 100 ms: about 6 threads, plus some against variation.
  const Choice enough = choose(with_consumer(sleeping, 0.1), {.cores = 2});
  CHECK(enough.settings.threads >= 5);
  CHECK(enough.settings.threads <= 12);
  CHECK(enough.wait_share < 0.05);
}

TEST_CASE("recorded: a server gets as many reads in flight as the consumer needs, by Little's law") {
  const Profile remote = recorded("remote");
  const Limits limits{.cores = 2, .max_read_ahead = 64};
  CHECK(choose(remote, limits).settings.read_ahead == 64);       // the maximum: the network is the limit
  const Choice slow = choose(with_consumer(remote, 1), limits);  // 32 samples/s with a latency of 0.33 s
  CHECK(slow.settings.read_ahead >= 11);
  CHECK(slow.settings.read_ahead <= 32);
  CHECK(slow.settings.threads == 1);
  CHECK_THAT(slow.reason, Catch::Matchers::Contains("reads in flight, "));
}

TEST_CASE("recorded: byte budgets are not exceeded") {
  for (const char* const name : {"cifar", "photographs", "sleeping", "remote"}) {
    INFO(name);
    const Profile profile = recorded(name);
    const double budget = 6 * static_cast<double>(profile.batch_bytes);
    const Choice choice = choose(profile, {.cores = 2, .byte_budget = budget});
    CHECK((choice.bytes <= budget || choice.settings.threads == 1));
    CHECK(choice.settings.prefetch <= 4);
  }
}

}  // namespace
}  // namespace unstarve::autotune
