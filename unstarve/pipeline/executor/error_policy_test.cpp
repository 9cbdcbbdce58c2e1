#include "unstarve/pipeline/executor/error_policy.h"

#include <catch2/catch.hpp>

#include "unstarve/pipeline/delivery/slot_pool.h"
#include "unstarve/pipeline/executor/loader_fixtures.h"
#include "unstarve/pipeline/executor/resources.h"

namespace unstarve {
namespace {

using Catch::Contains;

constexpr std::uint64_t kPolicySamples = 8;

// A policy over eight samples in batches of two; the ids in `bad` fail.
struct Policy {
  explicit Policy(OnError on_error, std::set<std::uint64_t> bad_ids, std::uint64_t limit = 100, int world = 1,
                  bool uneven = false)
      : bad(std::move(bad_ids)),
        order(order_spec(world), {2, LastBatch::kDrop}, kPolicySamples),
        policy({on_error, limit}, resources, order, false, uneven) {}
  static OrderSpec order_spec(int world) {
    OrderSpec spec;
    spec.world = world;
    return spec;
  }
  ErrorPolicy::Outcome make(std::uint64_t id, std::uint32_t epoch = 0) {
    return policy.try_sample({id, 0}, epoch, [&](Sample sample, bool first) {
      CHECK(first == (sample.id == id));
      if (bad.contains(sample.id)) throw Error(ErrorKind::kInput, "sample " + std::to_string(sample.id));
      return static_cast<std::int64_t>(sample.id) + 100;
    });
  }

  std::set<std::uint64_t> bad;
  Resources resources{std::make_shared<JpegSet>(kPolicySamples), std::make_shared<SampleSet>(kPolicySamples)};
  Order order;
  ErrorPolicy policy;
};

Slot empty_batch(std::uint64_t batch, bool last) {
  Slot slot;
  slot.batch = {.index = batch, .last_of_epoch = last};
  slot.arrays.ids = {batch * 2};
  return slot;
}

TEST_CASE("error policy: a good sample has its own id and label under every policy") {
  for (const OnError on_error : {OnError::kFail, OnError::kSkip, OnError::kReplace}) {
    Policy p(on_error, {});
    const auto made = p.make(5);
    CHECK(made.good);
    CHECK(made.id == 5);
    CHECK(made.label == 105);
    CHECK(p.policy.bad_count() == 0);
  }
}

TEST_CASE("error policy: fail throws the error of the sample and does not count it") {
  Policy p(OnError::kFail, {5});
  CHECK_THROWS_WITH(p.make(5), "sample 5");
  CHECK(p.policy.bad_count() == 0);
}

TEST_CASE("error policy: skip marks the sample, replace takes the next good one, both list it once") {
  Policy skip(OnError::kSkip, {5});
  CHECK_FALSE(skip.make(5).good);
  CHECK_FALSE(skip.make(5).good);
  REQUIRE(skip.policy.bad_samples(10).size() == 1);
  CHECK(skip.policy.bad_samples(10)[0].location.file == "file-5");
  CHECK(skip.policy.bad_samples(10)[0].reason == "sample 5");
  CHECK(skip.policy.bad_samples(0).empty());
  Policy replace(OnError::kReplace, {7, 0});
  CHECK(replace.make(7).id == 1);
  CHECK(replace.policy.bad_count() == 2);
}

TEST_CASE("error policy: replace fails if no sample is good") {
  Policy p(OnError::kReplace, {0, 1, 2, 3, 4, 5, 6, 7});
  CHECK_THROWS_WITH(p.make(3), "errors: replace: all 8 samples are bad; expected at least one good sample");
}

TEST_CASE("error policy: all workers throw the same error once there are too many bad samples") {
  Policy p(OnError::kSkip, {1, 2, 3}, 1);
  CHECK_FALSE(p.make(1).good);
  CHECK_THROWS_WITH(p.make(2), "2 bad samples, more than the limit of 1; the latest: sample 2");
  CHECK_THROWS_WITH(p.make(3), "2 bad samples, more than the limit of 1; the latest: sample 2");
}

TEST_CASE("error policy: an empty batch is left out unless it is needed") {
  Policy p(OnError::kSkip, {});
  CHECK(p.policy.leaves_out(empty_batch(0, false)));
  Slot good = empty_batch(0, false);
  good.delivered.samples = 1;
  CHECK_FALSE(p.policy.leaves_out(good));
  // The whole epoch is empty.
  for (int i = 0; i < 3; ++i) p.policy.note_batch(0, true);
  CHECK_FALSE(p.policy.leaves_out(empty_batch(3, true)));
  CHECK_THAT(p.policy.failure_of_empty(empty_batch(3, true))->what(), Contains("every sample of epoch 0 is bad"));
  p.policy.note_batch(0, false);
  CHECK(p.policy.leaves_out(empty_batch(3, true)));
  // Other ranks have the batch.
  Policy ranks(OnError::kSkip, {}, 100, 2);
  CHECK_THAT(ranks.policy.failure_of_empty(empty_batch(0, false))->what(), Contains("each of 2 ranks"));
  CHECK_FALSE(ranks.policy.leaves_out(empty_batch(0, false)));
  Policy uneven(OnError::kSkip, {}, 100, 2, true);
  for (const std::uint64_t batch : {0, 1}) {
    CHECK(uneven.policy.leaves_out(empty_batch(batch, batch == 1)));
    uneven.policy.note_batch(0, true);
  }
}

TEST_CASE("error policy: bad samples of a prefetched epoch are listed when its first batch is delivered") {
  Policy p(OnError::kSkip, {1, 5, 6});
  (void)p.make(5, 3);
  CHECK(p.policy.bad_samples(10).size() == 1);  // before the first batch
  p.policy.note_batch(3, false);
  (void)p.make(6, 4);
  (void)p.make(1, 4);
  (void)p.make(1, 3);  // by a slower thread
  const auto listed = p.policy.bad_samples(10);
  REQUIRE(listed.size() == 2);
  CHECK(listed[0].id == 1);
  CHECK(listed[1].id == 5);
  p.policy.note_batch(4, false);
  CHECK(p.policy.bad_samples(10).size() == 3);
}

}  // namespace
}  // namespace unstarve
