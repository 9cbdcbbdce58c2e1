// The search on synthetic machines with limited memory and speed.

#include "unstarve/jobs/finders/batch_search.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "unstarve/core/error.h"
#include "unstarve/core/testing/error_message.h"

namespace unstarve {
namespace {

using testing::error_message;

constexpr std::size_t kMegabyte = 1'000'000;

struct Machine {
  double overhead = 4;  // of a step, in the time of a sample
  double rate = 1000;   // samples/s of large batches
  std::size_t base = 100 * kMegabyte, network = 50 * kMegabyte, sample = 10 * kMegabyte;  // of the process
  std::size_t available = 4000 * kMegabyte;
  int fits = 1 << 30;  // larger sizes run out of memory, as on a GPU
  std::vector<int> measured{};
  std::size_t peak = 0;

  [[nodiscard]] std::size_t memory(int batch) const {
    return base + network + sample * static_cast<std::size_t>(batch);
  }

  BatchPoint measure(int batch) {
    measured.push_back(batch);
    if (batch > fits) throw Error(ErrorKind::kMemory, "training step: out of memory. Some advice");
    peak = std::max(peak, memory(batch));
    BatchPoint point;
    point.batch = batch;
    const double r = rate * batch / (batch + overhead);
    point.together = {r, r * 0.998, r * 1.002, 6};
    point.alone = point.together;
    point.host_bytes = point.memory_bytes = memory(batch);
    return point;
  }
};

BatchSearchResult search_on(Machine& machine, int from, int to, double longest_s = 1e9) {
  BatchSearch search;
  search.from = from;
  search.to = to;
  search.longest_s = longest_s;
  search.base_bytes = machine.base;
  search.measure = [&](int batch) { return machine.measure(batch); };
  search.available = [&] { return machine.available; };
  return search_batches(search);
}

std::vector<int> sizes_of(const BatchSearchResult& result) {
  std::vector<int> sizes;
  for (const BatchPoint& point : result.points) sizes.push_back(point.batch);
  return sizes;
}

}  // namespace

TEST_CASE("sizes double up to the largest one, then the knee is refined") {
  Machine machine;
  machine.available = 1'000'000 * kMegabyte;
  const BatchSearchResult result = search_on(machine, 1, 300);
  CHECK(machine.measured == std::vector<int>{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 48, 56});
  CHECK(sizes_of(result) == std::vector<int>{1, 2, 4, 8, 16, 32, 48, 56, 64, 128, 256, 300});
  CHECK(result.end == GrowthEnd::kLargest);
  CHECK_THAT(result.reason, Catch::Contains("300 is the largest size to try"));
  CHECK(result.points[knee_of(result.points)].batch == 64);
}

TEST_CASE("no size exceeds 85 % of the available memory, and the largest one that fits is approached") {
  for (const std::size_t available : {500, 1000, 2000, 4000, 9000}) {
    for (const std::size_t sample : {1, 7, 20}) {
      Machine machine;
      machine.available = available * kMegabyte;
      machine.sample = sample * kMegabyte;
      CAPTURE(available, sample);
      const BatchSearchResult result = search_on(machine, 1, 1 << 20);
      CHECK(result.end == GrowthEnd::kMemory);
      const std::size_t limit = machine.available / 100 * 85;
      CHECK(machine.peak <= limit);
      CHECK_THAT(result.reason, Catch::Contains("85 % of the available memory"));
      CHECK(machine.memory(2 * result.points.back().batch) > limit);
      REQUIRE(result.predicted_largest);
      CHECK(machine.memory(*result.predicted_largest) <= limit);
    }
  }
}

TEST_CASE("the search survives sizes that run out of memory and comes close to the largest that fits") {
  for (const int fits : {1, 5, 16, 100, 250, 256, 300, 500}) {
    Machine machine;
    machine.available = 1'000'000 * kMegabyte;
    machine.fits = fits;
    CAPTURE(fits);
    const BatchSearchResult result = search_on(machine, 1, 1 << 20);
    CHECK(result.end == GrowthEnd::kMemory);
    CHECK_THAT(result.reason, Catch::Contains("ran out of memory (training step: out of memory)"));
    CHECK(result.points.back().batch <= fits);
    CHECK(result.points.back().batch * 1.2 + 8 >= fits);
    const std::vector<int> sizes = sizes_of(result);
    CHECK(std::set<int>(sizes.begin(), sizes.end()).size() == sizes.size());
    CHECK(std::is_sorted(sizes.begin(), sizes.end()));
    // One at the end of the doubling, three that approach the limit.
    CHECK(std::count_if(machine.measured.begin(), machine.measured.end(), [&](int b) { return b > fits; }) <= 4);
  }
}

TEST_CASE("the first size must fit, and other errors end the search") {
  Machine machine;
  machine.fits = 3;
  CHECK_THAT(error_message([&] { return search_on(machine, 4, 8); }, ErrorKind::kMemory),
             Catch::Contains("out of memory"));
  BatchSearch search;
  search.to = 8;
  search.measure = [](int batch) {
    if (batch > 1) throw Error(ErrorKind::kInput, "broken data");
    return Machine().measure(batch);
  };
  search.available = [] { return 1'000'000 * kMegabyte; };
  CHECK_THAT(error_message([&] { return search_batches(search); }), Catch::Contains("broken data"));
}

TEST_CASE("sizes that would take too long are not measured") {
  Machine machine;
  machine.rate = 30;  // 12 steps of 128 samples take 51 s
  const BatchSearchResult result = search_on(machine, 1, 1 << 20, 40);
  CHECK(result.end == GrowthEnd::kTime);
  CHECK(result.points.back().batch == 64);
  CHECK_THAT(result.reason, Catch::Contains("a step with 128 samples") && Catch::Contains("--longest"));
  REQUIRE(result.predicted_largest);
  CHECK(*result.predicted_largest > 200);
}

TEST_CASE("a search of one size measures it once") {
  Machine machine;
  const BatchSearchResult result = search_on(machine, 24, 24);
  CHECK(machine.measured == std::vector<int>{24});
  CHECK(result.end == GrowthEnd::kLargest);
}

}  // namespace unstarve
