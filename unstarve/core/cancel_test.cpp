#include "unstarve/core/cancel.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <latch>

#include "unstarve/core/testing/error_message.h"
#include "unstarve/core/thread_pool.h"

namespace unstarve {
namespace {

using testing::error_message;

TEST_CASE("without a scope nothing is cancelled, and scopes nest") {
  throw_if_cancelled();
  std::stop_source outer, inner;
  {
    const CancelScope first(outer.get_token());
    {
      const CancelScope second(inner.get_token());
      outer.request_stop();
      throw_if_cancelled();
      inner.request_stop();
      CHECK(error_message([] { throw_if_cancelled(); }, ErrorKind::kCancelled) == "stopped");
    }
    CHECK(error_message([] { throw_if_cancelled(); }, ErrorKind::kCancelled) == "stopped");
  }
  throw_if_cancelled();
}

TEST_CASE("a pool's tasks inherit their submitter's token, and those that have not started are dropped") {
  ThreadPool pool(1);
  std::stop_source stop;
  std::latch begun(1), checked(1);
  std::atomic<int> later{0};
  {
    const CancelScope scope(stop.get_token());
    pool.submit([&] {
      begun.count_down();
      checked.wait();
      throw_if_cancelled();
    });
    for (int i = 0; i < 10; ++i) pool.submit([&] { ++later; });
  }
  pool.submit([&] { later += 100; });  // without a token
  begun.wait();
  stop.request_stop();
  checked.count_down();
  CHECK(error_message([&] { pool.wait(); }, ErrorKind::kCancelled) == "stopped");
  CHECK(later == 100);
}

}  // namespace
}  // namespace unstarve
