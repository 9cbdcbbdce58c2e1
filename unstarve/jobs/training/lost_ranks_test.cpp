#include "unstarve/jobs/training/lost_ranks.h"

#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "unstarve/core/process/child_process.h"
#include "unstarve/ranks/mpi.h"

namespace unstarve {
namespace {

// Three ranks of one machine: this process, and two that sleep.
class SleepingWorld final : public MpiWorld {
 public:
  explicit SleepingWorld(int own_rank) : own_rank_(own_rank) {
    for (int rank = 0; rank < 3; ++rank) {
      if (rank == own_rank) {
        ranks_.push_back({rank, ::getpid(), false});
        continue;
      }
      others_.push_back(std::make_unique<ChildProcess>(std::vector<std::string>{"sleep", "600"}, ChildStreams{}));
      ranks_.push_back({rank, others_.back()->id(), true});
    }
  }
  [[nodiscard]] MpiPosition position() const override { return {own_rank_, 3, own_rank_, 1}; }
  void reduce(void*, std::size_t, MpiType, MpiReduction) override {}
  void broadcast(void*, std::size_t, int) override {}
  void gather(const void*, void*, std::size_t) override {}
  [[nodiscard]] const std::vector<LocalRank>& local_ranks() const override { return ranks_; }
  void announce_end() noexcept override { announced_ = true; }
  [[nodiscard]] bool announced_end() const noexcept override { return announced_; }
  void finish() override { finished_ = true; }

  void lose(std::size_t other) { others_[other].reset(); }
  [[nodiscard]] bool finished() const { return finished_; }

 private:
  int own_rank_;
  std::vector<LocalRank> ranks_;
  std::vector<std::unique_ptr<ChildProcess>> others_;
  std::atomic<bool> announced_ = false;
  bool finished_ = false;
};

// The message after rank `lost` has ended; `announced`: it has reported why.
std::string message_after(int own_rank, std::size_t lost, bool announced = false) {
  const auto world = std::make_shared<SleepingWorld>(own_rank);
  Ranks ranks;
  ranks.rank = own_rank;
  ranks.world = 3;
  ranks.mpi = world;
  std::promise<std::string> promise;
  const auto watch = watch_ranks(
      ranks, [&](const std::string& message) { promise.set_value(message); }, "/missing/checkpoints");
  REQUIRE(watch != nullptr);
  if (announced) announce_end(ranks);
  world->lose(lost);
  std::future<std::string> reported = promise.get_future();
  REQUIRE(reported.wait_for(std::chrono::seconds(60)) == std::future_status::ready);
  std::string message = reported.get();
  CHECK(world->announced_end() == (announced || !message.empty()));
  return message;
}

TEST_CASE("the first of the ranks that are left reports one that was killed") {
  const std::string message = message_after(0, 1);
  CHECK(message.find("training: rank 2 (process ") == 0);
  CHECK(message.find("expected 3 ranks. ") != std::string::npos);
  CHECK(message_after(1, 0).find("training: rank 0 (process ") == 0);
  CHECK(message_after(1, 1).empty());  // rank 0 reports that rank 2 was lost
}

TEST_CASE("a rank that has reported why it ends is not reported again") { CHECK(message_after(0, 1, true).empty()); }

TEST_CASE("without MPI, no rank is watched") {
  Ranks ranks;
  CHECK(watch_ranks(
            ranks, [](const std::string&) {}, "") == nullptr);
  CHECK_NOTHROW(announce_end(ranks));
  CHECK_NOTHROW(finish_ranks(ranks));
  const auto world = std::make_shared<SleepingWorld>(0);
  ranks.mpi = world;
  CHECK(watch_ranks(ranks, {}, "") == nullptr);
  finish_ranks(ranks);
  CHECK(world->finished());
}

}  // namespace
}  // namespace unstarve
