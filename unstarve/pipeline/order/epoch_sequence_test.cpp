#include "unstarve/pipeline/order/epoch_sequence.h"

#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/order/sample_set.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {
namespace {

std::vector<std::uint64_t> ids_at(const EpochSequence& sequence, std::uint32_t epoch) {
  const EpochSequence::Epoch samples(sequence, epoch);
  std::vector<std::uint64_t> ids;
  for (std::uint64_t position = 0; position < sequence.length(); ++position) ids.push_back(samples.at(position).id);
  return ids;
}

TEST_CASE("epoch sequence: all records once, shuffled by seed and epoch or in storage order") {
  constexpr std::uint64_t kRecords = 41;
  const OrderBasis basis{std::make_shared<SampleSet>(kRecords), {}};
  OrderSpec spec;
  spec.seed = 5;
  const EpochSequence shuffled(spec, {}, basis, 4);
  REQUIRE(shuffled.length() == kRecords);
  const auto first = ids_at(shuffled, 0);
  CHECK(std::set(first.begin(), first.end()).size() == kRecords);
  CHECK(ids_at(EpochSequence(spec, {}, basis, 8), 0) == first);  // independent of batches and ranks
  CHECK(ids_at(shuffled, 1) != first);
  CHECK(EpochSequence::Epoch(shuffled, 3).at(0).draw == 3);
  spec.shuffle = false;
  const auto stored = ids_at(EpochSequence(spec, {}, basis, 4), 2);
  for (std::uint64_t i = 0; i < kRecords; ++i) CHECK(stored[i] == i);
}

TEST_CASE("epoch sequence: buckets rearrange a window, by default in runs of a batch of all ranks") {
  constexpr std::uint64_t kRecords = 32;
  const auto set = std::make_shared<SampleSet>(kRecords);
  for (std::uint64_t id = 0; id < kRecords; ++id) set->sizes.push_back(id % 2 == 0 ? Size{10, 10} : Size{90, 90});
  OrderSpec spec;
  spec.shuffle = false;
  BatchSpec batch;
  batch.bucket.window = kRecords;
  const auto ids = ids_at(EpochSequence(spec, batch, {set, {}}, 8), 0);
  CHECK(std::set(ids.begin(), ids.end()).size() == kRecords);
  for (std::uint64_t i = 0; i < kRecords; ++i) CHECK(ids[i] % 2 == ids[i / 8 * 8] % 2);  // runs of 8 have equal sizes
}

TEST_CASE("epoch sequence: data without samples are rejected") {
  CHECK_THROWS_WITH(EpochSequence({}, {}, {std::make_shared<SampleSet>(0), {}}, 1), "the dataset has no samples");
}

}  // namespace
}  // namespace unstarve
