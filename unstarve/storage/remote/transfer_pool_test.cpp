#include "unstarve/storage/remote/transfer_pool.h"

#include <thread>

#include <catch2/catch.hpp>

namespace unstarve::remote {
namespace {

// A document of a server that does not exist: nothing listens on port 1.
Fetch refused_connection() {
  Fetch fetch;
  fetch.make_request = [](std::uint64_t, std::uint64_t) { return HttpRequest{"http://127.0.0.1:1/", {}}; };
  return fetch;
}

std::vector<TransferPool::Completed> wait_for_one(TransferPool& pool) {
  for (;;) {
    auto completed = pool.perform();
    if (!completed.empty()) return completed;
    pool.wait(1000);
  }
}

}  // namespace

TEST_CASE("a completed transfer is returned by perform, and its handle is used again") {
  using namespace std::chrono_literals;
  const RemoteOptions options;
  TransferPool pool(options);
  Fetch fetch = refused_connection();
  CURL* first = nullptr;
  for (int round = 0; round < 2; ++round) {
    std::unique_ptr<Transfer> transfer = pool.start(fetch, 0, false, 10s);
    const auto completed = wait_for_one(pool);
    REQUIRE(completed.size() == 1);
    CHECK(completed[0].easy == transfer->easy());
    CHECK(transfer->verdict(completed[0].code).outcome == Verdict::Outcome::kRetry);
    if (round == 0) first = transfer->easy();
    CHECK(transfer->easy() == first);
    pool.end(transfer);
    CHECK(transfer == nullptr);
    pool.end(transfer);
  }
  CHECK(pool.requests() == 2);
  CHECK(pool.received_bytes() == 0);
}

TEST_CASE("running transfers can be ended and abandoned, and a request that cannot be made is reported") {
  using namespace std::chrono_literals;
  const RemoteOptions options;
  TransferPool pool(options);
  Fetch fetch = refused_connection();
  std::unique_ptr<Transfer> ended = pool.start(fetch, 0, false, 10s);
  pool.end(ended);
  const std::unique_ptr<Transfer> abandoned = pool.start(fetch, 0, false, 10s);
  pool.abandon(*abandoned);
  CHECK(pool.perform().empty());
  fetch.make_request = [](std::uint64_t, std::uint64_t) -> HttpRequest { throw Error(ErrorKind::kIo, "no key"); };
  CHECK_THROWS_WITH((void)pool.start(fetch, 0, false, 10s), "no key");
  CHECK(pool.requests() == 2);
}

TEST_CASE("another thread wakes a waiting pool") {
  const RemoteOptions options;
  TransferPool pool(options);
  std::jthread waker([&] { pool.wake(); });
  pool.wait(600'000);
}

}  // namespace unstarve::remote
