#include "unstarve/pipeline/order/used_samples.h"

#include <catch2/catch.hpp>

namespace unstarve {
namespace {

std::vector<std::uint64_t> unused_positions(const UsedSamples& used, std::uint64_t length) {
  std::vector<std::uint64_t> positions;
  for (std::uint64_t index = used.count(); index < length; ++index) positions.push_back(used.position_of(index));
  return positions;
}

TEST_CASE("used samples: the unused ones follow in order, gaps first") {
  CHECK(unused_positions({}, 3) == std::vector<std::uint64_t>{0, 1, 2});
  CHECK(unused_positions({2, {}, 5}, 5) == std::vector<std::uint64_t>{2, 3, 4});
  const UsedSamples gaps(2, {false, true, false, true}, 9);
  CHECK(gaps.count() == 4);
  CHECK(unused_positions(gaps, 9) == std::vector<std::uint64_t>{2, 4, 6, 7, 8});
  CHECK(unused_positions({1, {true, true}, 4}, 4) == std::vector<std::uint64_t>{3});
}

TEST_CASE("used samples: what exceeds the epoch is ignored") {
  CHECK(UsedSamples(9, {}, 5).count() == 5);
  const UsedSamples beyond(3, {false, true, true, true}, 5);
  CHECK(beyond.count() == 4);
  CHECK(unused_positions(beyond, 5) == std::vector<std::uint64_t>{3});
}

}  // namespace
}  // namespace unstarve
