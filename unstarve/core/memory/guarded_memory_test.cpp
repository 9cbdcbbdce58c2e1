#include "unstarve/core/memory/guarded_memory.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

namespace unstarve {
namespace {

// Whether a process that reads this byte crashes.
bool read_crashes(const volatile std::uint8_t* byte) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // not the test program's handler, nor a sanitizer's
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    [[maybe_unused]] const std::uint8_t read = *byte;
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

}  // namespace

TEST_CASE("reading the byte after guarded memory crashes, reading the last one does not") {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{64}, std::size_t{4095}, std::size_t{4096},
                                  std::size_t{4097}, std::size_t{100'000}}) {
    CAPTURE(bytes);
    const GuardedBytes memory(bytes);
    REQUIRE(memory.bytes().size() == bytes);
    for (std::uint8_t& byte : memory.bytes()) {
      REQUIRE(byte == 0);
      byte = 1;
    }
    CHECK_FALSE(read_crashes(memory.bytes().data() + bytes - 1));
    CHECK(read_crashes(memory.bytes().data() + bytes));
  }
}

}  // namespace unstarve
