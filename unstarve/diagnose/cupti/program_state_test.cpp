#include "unstarve/diagnose/cupti/program_state.h"

#include <catch2/catch.hpp>
#include <thread>

namespace unstarve {
namespace {

constexpr double kLong = 600;  // seconds; a test that waits for them fails

TEST_CASE("a wait ends when the program initialises CUDA") {
  ProgramState program;
  CHECK_FALSE(program.wait(0));
  CHECK_FALSE(program.accept_cuda());
  std::thread other([&] { program.set_cuda(); });
  CHECK(program.wait(kLong));
  other.join();
  CHECK(program.wait(0));  // it is not accepted yet
  CHECK(program.accept_cuda());
  CHECK_FALSE(program.wait(0));
  CHECK_FALSE(program.is_stopping());
}

TEST_CASE("the end of the program waits for the thread that records") {
  ProgramState program;
  bool ended = false;
  std::thread recording([&] {
    CHECK(program.wait(kLong));
    CHECK(program.is_stopping());
    ended = true;
    program.set_ended();
  });
  program.stop(kLong);
  CHECK(ended);
  recording.join();
  program.stop(kLong);  // returns immediately
  ProgramState stuck;
  stuck.stop(0.001);
  CHECK(stuck.is_stopping());
}

}  // namespace
}  // namespace unstarve
