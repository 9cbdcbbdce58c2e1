#include "unstarve/storage/remote/fetch_batch.h"

#include <thread>

#include <catch2/catch.hpp>

namespace unstarve::remote {

TEST_CASE("a caller waits until all fetches of its batch have ended") {
  FetchBatch batch(3);
  std::atomic<int> ended{0};
  std::thread engine([&] {
    for (int i = 0; i < 3; ++i) {
      ++ended;
      batch.end_one();
    }
  });
  batch.wait();
  CHECK(ended == 3);
  engine.join();
}

TEST_CASE("a caller receives the failure of a fetch after the others have ended") {
  FetchBatch batch(2);
  const Failure failure(Error(ErrorKind::kIo, "read x: gone"));
  batch.end_one(&failure);
  batch.end_one();
  try {
    batch.wait();
    FAIL("no failure");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kIo);
    CHECK(error.what() == std::string("read x: gone"));
  }
}

TEST_CASE("a cancelled batch remains until its fetches have ended") {
  FetchBatch batch(1);
  CHECK_FALSE(batch.cancelled());
  batch.cancel();
  CHECK(batch.cancelled());
  batch.end_one();
  batch.wait();
}

}  // namespace unstarve::remote
