#include "unstarve/core/process/per_process.h"

#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <set>
#include <thread>
#include <vector>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

struct Counted {
  static inline int made = 0, destroyed = 0;
  int number = ++made;
  ~Counted() { ++destroyed; }
};

TEST_CASE("a forked process makes a value of its own, and does not destroy that of its parent") {
  Counted::made = Counted::destroyed = 0;
  auto value = std::make_unique<PerProcess<Counted>>([] { return std::make_unique<Counted>(); });
  CHECK(Counted::made == 0);  // at the first use
  CHECK(value->get().number == 1);
  CHECK(value->get().number == 1);
  const pid_t child = ::fork();
  if (child == 0) {
    auto unused = std::make_unique<PerProcess<Counted>>([] { return std::make_unique<Counted>(); });
    (void)unused->get();
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      unused.reset();  // of its parent
      ::_exit(Counted::destroyed);
    }
    int status = 1;
    ::waitpid(grandchild, &status, 0);
    const bool own = value->get().number == 3 && value->get().number == 3;
    value.reset();
    ::_exit(own && status == 0 && Counted::destroyed == 1 ? 0 : 1);
  }
  int status = 1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  value.reset();
  CHECK(Counted::destroyed == 1);
}

TEST_CASE("all threads get the same value") {
  const PerProcess<int> value([] { return std::make_unique<int>(1); });
  std::vector<const int*> seen(8);
  {
    std::vector<std::jthread> threads;
    for (const int*& one : seen) threads.emplace_back([&] { one = &value.get(); });
  }
  CHECK(std::set<const int*>(seen.begin(), seen.end()).size() == 1);
}

TEST_CASE("a value that cannot be made is tried again") {
  int tries = 0;
  const PerProcess<int> value([&] {
    if (++tries == 1) throw Error(ErrorKind::kIo, "no");
    return std::make_unique<int>(tries);
  });
  CHECK_THROWS_AS(value.get(), Error);
  CHECK(value.get() == 2);
}

}  // namespace
}  // namespace unstarve
