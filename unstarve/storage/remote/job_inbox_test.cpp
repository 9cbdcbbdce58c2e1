#include "unstarve/storage/remote/job_inbox.h"

#include <algorithm>
#include <thread>

#include <catch2/catch.hpp>

namespace unstarve::remote {
namespace {

std::vector<Fetch> named(std::initializer_list<const char*> names) {
  std::vector<Fetch> fetches;
  for (const char* name : names) fetches.emplace_back().name = name;
  return fetches;
}

}  // namespace

TEST_CASE("jobs are taken once, in the order of their fetches") {
  JobInbox inbox;
  std::vector<Fetch> first = named({"a", "b"}), second = named({"c"});
  FetchBatch batch(2), other(1);
  inbox.submit(first, batch);
  inbox.submit(second, other);
  std::deque<FetchJobPtr> queue;
  inbox.take_into(queue);
  inbox.take_into(queue);
  REQUIRE(queue.size() == 3);
  CHECK(queue[0]->fetch.name == "a");
  CHECK(queue[1]->fetch.name == "b");
  CHECK(&queue[1]->batch == &batch);
  CHECK(queue[2]->fetch.name == "c");
  CHECK(&queue[2]->batch == &other);
}

TEST_CASE("a cancellation is reported once, and a stop remains") {
  JobInbox inbox;
  CHECK_FALSE(inbox.take_cancelled());
  inbox.report_cancelled();
  CHECK(inbox.take_cancelled());
  CHECK_FALSE(inbox.take_cancelled());
  CHECK_FALSE(inbox.stopping());
  inbox.stop();
  CHECK(inbox.stopping());
  CHECK(inbox.stopping());
}

TEST_CASE("a closed inbox returns the jobs that were not taken and rejects new ones") {
  JobInbox inbox;
  std::vector<Fetch> taken = named({"a"}), left = named({"b", "c"});
  FetchBatch batch(3);
  inbox.submit(taken, batch);
  std::deque<FetchJobPtr> queue;
  inbox.take_into(queue);
  inbox.submit(left, batch);
  const std::vector<FetchJobPtr> returned = inbox.close(Failure(Error(ErrorKind::kMemory, "no memory")));
  REQUIRE(returned.size() == 2);
  CHECK(returned[0]->fetch.name == "b");
  CHECK_THROWS_WITH(inbox.submit(left, batch), "no memory");
}

TEST_CASE("jobs of concurrent callers are all taken") {
  JobInbox inbox;
  constexpr std::size_t kCallers = 4, kEach = 200;
  std::vector<Fetch> fetches(kCallers);
  FetchBatch batch(kCallers * kEach);
  std::vector<std::jthread> callers;
  for (Fetch& fetch : fetches) {
    callers.emplace_back([&] {
      for (std::size_t i = 0; i < kEach; ++i) inbox.submit({&fetch, 1}, batch);
    });
  }
  std::deque<FetchJobPtr> queue;
  while (queue.size() < kCallers * kEach) inbox.take_into(queue);
  for (const Fetch& fetch : fetches) {
    CHECK(std::count_if(queue.begin(), queue.end(), [&](const auto& job) { return &job->fetch == &fetch; }) == kEach);
  }
}

}  // namespace unstarve::remote
