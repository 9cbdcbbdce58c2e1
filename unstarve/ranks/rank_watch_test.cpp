#include "unstarve/ranks/rank_watch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <future>
#include <optional>

namespace unstarve {
namespace {

// A process that waits until it is killed.
class Waiting {
 public:
  Waiting() : process_(::fork()) {
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
      ::pause();
      ::_exit(0);
    }
  }
  ~Waiting() {
    end();
    (void)::waitpid(process_, nullptr, 0);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  void end() const { ::kill(process_, SIGKILL); }
  [[nodiscard]] int process() const { return process_; }

 private:
  pid_t process_;
};

// The first loss that a watch reports.
class Lost {
 public:
  [[nodiscard]] auto callback() {
    return [this](const std::vector<std::size_t>& ended) { promise_.set_value(ended); };
  }
  [[nodiscard]] std::optional<std::vector<std::size_t>> within(std::chrono::milliseconds time) {
    if (future_.wait_for(time) != std::future_status::ready) return std::nullopt;
    return future_.get();
  }

 private:
  std::promise<std::vector<std::size_t>> promise_;
  std::future<std::vector<std::size_t>> future_ = promise_.get_future();
};

using Ended = std::vector<std::size_t>;
constexpr std::chrono::milliseconds kBrief(50), kLong(30'000);

TEST_CASE("the end of a process is reported, also before its parent has waited for it") {
  const Waiting first, second;
  Lost lost;
  const RankWatch watch(std::vector{first.process(), second.process()}, lost.callback());
  CHECK_FALSE(lost.within(kBrief));
  second.end();
  CHECK(lost.within(kLong) == Ended{1});
}

TEST_CASE("a process that ended before the watch is reported") {
  const Waiting here;
  pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  REQUIRE(::waitpid(gone, nullptr, 0) == gone);
  Lost lost;
  const RankWatch watch(std::vector{here.process(), gone}, lost.callback());
  CHECK(lost.within(kLong) == Ended{1});
}

TEST_CASE("a watch that ends first reports nothing") {
  const Waiting one;
  Lost lost;
  { const RankWatch watch(std::vector{one.process()}, lost.callback()); }
  one.end();
  CHECK_FALSE(lost.within(kBrief));
}

}  // namespace
}  // namespace unstarve
