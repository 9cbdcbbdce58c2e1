#include "unstarve/pipeline/order/rank_batches.h"

#include <catch2/catch.hpp>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/pipeline/spec/spec.h"

namespace unstarve {
namespace {

TEST_CASE("rank batches: the batches of all ranks cover every sample once, before fillers") {
  for (const LastBatch last : {LastBatch::kDrop, LastBatch::kKeep})
    for (const int world : {1, 2, 3})
      for (const std::uint64_t samples : {0, 1, 7, 12, 13, 59}) {
        CAPTURE(world, samples);
        std::vector<int> seen(samples + 100);
        std::uint64_t batches = 0, total = 0;
        for (int rank = 0; rank < world; ++rank) {
          RankBatches part({.rank = rank, .world = world}, {4, last});
          part.set_samples(samples);
          std::uint64_t before = 0;
          for (std::uint64_t batch = 0; batch < part.count(); ++batch) {
            CHECK(part.samples_before(batch) == before);
            before += part.samples_of(batch);
            for (std::uint64_t i = 0; i < part.samples_of(batch); ++i) ++seen[part.position_of(batch) + i];
          }
          CHECK(part.samples() == before);
          if (rank > 0) CHECK(part.count() == batches);
          batches = part.count();
          total += before;
        }
        const auto ranks = static_cast<std::uint64_t>(world), over = samples % (4 * ranks);
        // Fillers make the last batch divisible by the number of ranks.
        const std::uint64_t expected =
            last == LastBatch::kDrop ? samples - over : samples + (over + ranks - 1) / ranks * ranks - over;
        CHECK(total == expected);
        for (std::uint64_t position = 0; position < seen.size(); ++position)
          CHECK(seen[position] == (position < expected ? 1 : 0));
      }
}

TEST_CASE("rank batches: an invalid batch size, rank or world is rejected") {
  CHECK_THROWS_WITH(RankBatches(OrderSpec{}, {0}), "batch size 0: expected 1 or more");
  CHECK_THROWS_WITH(RankBatches({.rank = 2, .world = 2}, {1}), "rank 2 of world 2: expected 0 <= rank < world");
  CHECK_THROWS_AS(RankBatches({.world = 0}, {1}), Error);
}

}  // namespace
}  // namespace unstarve
