#include "unstarve/pipeline/order/sample_ids.h"

#include <catch2/catch.hpp>

#include "unstarve/core/random.h"

namespace unstarve {
namespace {

using List = std::vector<std::uint32_t>;

List all(const SampleIds& ids) {
  List list;
  for (std::uint64_t position = 0; position < ids.size(); ++position)
    list.push_back(static_cast<std::uint32_t>(ids[position]));
  return list;
}

SampleIds of(const List& list) {
  SampleIds ids(1 << 20);
  ids.add(list);
  return ids;
}

TEST_CASE("ids are returned as added, from runs or from a list") {
  Random random(1, 2, 3, 4);
  // Mean lengths of a run; short ones give many runs, which become a list.
  for (const std::uint32_t length : {1U, 3U, 500U}) {
    SampleIds ids(1 << 20);
    List expected;
    for (std::uint32_t id = 0; expected.size() < 20'000;) {
      const std::uint32_t count = 1 + random.below(2 * length - 1);
      List run(count);
      for (std::uint32_t& one : run) expected.push_back(one = id++);
      if (random.below(2) == 0)
        ids.add(run.front(), count);
      else
        ids.add(run);
      id += 1 + random.below(3);
    }
    CAPTURE(length);
    CHECK(all(ids) == expected);
    CHECK(ids.list().empty() == (length == 500));
    CHECK(ids.runs().empty() == (length != 500));
    for (const std::uint32_t id : {0U, 7U, expected[777], expected[19'000] + 1, expected.back(), expected.back() + 1}) {
      const auto found = std::lower_bound(expected.begin() + 5, expected.begin() + 19'500, id);
      CHECK(ids.lower_bound(5, 19'500, id) == static_cast<std::uint64_t>(found - expected.begin()));
    }
    // Equal ids have the same fingerprint, however they were added; different ids differ.
    CHECK(of(expected).fingerprint() == ids.fingerprint());
    ++expected[10'000];
    CHECK(of(expected).fingerprint() != ids.fingerprint());
    expected.resize(9'000);
    CHECK(of(expected).fingerprint() != ids.fingerprint());
  }
}

TEST_CASE("adjacent runs are merged, and ids in storage order are detected") {
  SampleIds ids(1'000'000'000'000);
  CHECK(ids.as_stored());
  ids.add(0, 5);
  ids.add(5, 999'999'999'000);
  CHECK(ids.as_stored());
  CHECK(ids.runs() == std::vector<SampleIds::Run>{{0, 999'999'999'005}});
  ids.add(999'999'999'900, 3);
  CHECK_FALSE(ids.as_stored());
  CHECK(ids[999'999'999'006] == 999'999'999'901);
  // Any number of runs if the ids do not fit into 32 bits.
  for (std::uint64_t i = 0; i < 3000; ++i) ids.add(2 * i, 1);
  CHECK(ids.list().empty());
  CHECK(ids[ids.size() - 1] == 5998);
  CHECK_FALSE(of({1, 2, 3}).as_stored());
  CHECK_FALSE(of({0, 2, 3}).as_stored());
}

TEST_CASE("the largest and the smallest 32-bit id do not form a run") {
  const List around{0xFFFFFFFE, 0xFFFFFFFF, 0, 1};
  SampleIds runs(std::uint64_t{1} << 32);
  runs.add(around);
  CHECK(all(runs) == around);
  CHECK(runs.runs() == std::vector<SampleIds::Run>{{0xFFFFFFFE, 2}, {0, 2}});
  // Scattered ids become a list, with the same fingerprint as the runs.
  List scattered;
  for (std::uint32_t id = 0; id < 4000; id += 2) scattered.push_back(id);
  SampleIds listed(std::uint64_t{1} << 32), in_parts(std::uint64_t{1} << 32);
  listed.add(scattered);
  in_parts.add(scattered);
  REQUIRE_FALSE(listed.list().empty());
  listed.add(around);
  in_parts.add(0xFFFFFFFE, 2);
  in_parts.add(0, 2);
  CHECK(listed[listed.size() - 2] == 0);
  CHECK(listed.fingerprint() == in_parts.fingerprint());
}

}  // namespace
}  // namespace unstarve
