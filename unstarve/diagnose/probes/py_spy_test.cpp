#include "unstarve/diagnose/probes/py_spy.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// A script that replaces py-spy; $out is the file that it has to write.
fs::path script_in(const fs::path& folder, const std::string& text) {
  const fs::path path = folder / "py-spy";
  std::ofstream(path) << "#!/bin/sh\nall=\"$*\"\nwhile [ $# -gt 1 ]; do [ \"$1\" = --output ] && out=$2; shift; done\n"
                      << text << '\n';
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

PySpyResult result_of(PySpyRun& run) {
  while (!run.has_ended()) usleep(1000);
  return run.end();
}

TEST_CASE("a recording by py-spy") {
  const testing::TemporaryFolder folder;
  const fs::path program = script_in(folder.path(), R"(
case "$all" in *"--pid 72 "*"--rate 60 --duration 4 "*"--gil") ;; *) exit 9 ;; esac
echo '{"profiles":[{"type":"sampled","name":"Thread 72 \"MainThread\"","samples":[[0]],"weights":[0.05]}],' > "$out"
echo '"shared":{"frames":[{"name":"f","file":"/home/me/t.py","line":9}]}}' >> "$out")");
  PySpyRun run(program, {72, 4, 60, true});
  CHECK(run.id() > 0);
  const PySpyResult result = result_of(run);
  CHECK(result.problem.empty());
  REQUIRE(result.recording);
  REQUIRE(result.recording->threads.size() == 1);
  CHECK(result.recording->threads[0].process == 72);
  CHECK(result.seconds < 4);
  CHECK(result.cpu_s > 0);
}

// Otherwise shares of an interrupted recording would be too small.
TEST_CASE("the start of py-spy is not a part of the recording, nor is its end after an interrupt") {
  const testing::TemporaryFolder folder;
  const fs::path program = script_in(folder.path(), R"(
finish() { sleep 0.5; echo '{"profiles":[],"shared":{"frames":[]}}' > "$out"; exit 0; }
trap finish INT
sleep 0.5
echo 'py-spy> Sampling process'
touch "$(dirname "$0")/begun"
while :; do sleep 0.01; done)");
  std::signal(SIGINT, SIG_DFL);  // a shell cannot trap a signal that it inherits as ignored
  const double begin = seconds_now();
  PySpyRun run(program, {72, 60, 60, true});
  while (!run.has_ended() && !fs::exists(folder.path() / "begun")) usleep(1000);
  usleep(50'000);
  CHECK_FALSE(run.has_ended());
  run.interrupt();
  const PySpyResult result = result_of(run);
  const double all = seconds_now() - begin;
  CHECK(result.problem.empty());
  CHECK(result.seconds > 0);
  CHECK(result.seconds < all - 0.9);  // file times have a resolution of some milliseconds
}

TEST_CASE("py-spy that fails, and one that does not end") {
  const testing::TemporaryFolder folder;
  const fs::path program = script_in(
      folder.path(), "echo 'py-spy> Sampling'; echo 'Error: Permission denied' >&2; echo 'Reason: x' >&2; exit 3");
  PySpyRun failing(program, {72, 4, 60, false});
  PySpyResult result = result_of(failing);
  CHECK_FALSE(result.recording);
  CHECK(result.problem == "py-spy failed with exit code 3: Permission denied");

  script_in(folder.path(), "exec sleep 600");
  PySpyRun endless(program, {72, 4, 60, false});
  result = endless.end();
  CHECK(result.problem.find("py-spy failed with exit code 137: ") == 0);
  CHECK_THROWS_AS(PySpyRun("/missing/py-spy", PySpyTask{72, 4, 60, false}), Error);
}

TEST_CASE("py-spy is found next to the interpreter, unless a variable names another one") {
  const testing::TemporaryFolder folder;
  const fs::path program = script_in(folder.path(), "exit 1");
  unsetenv("UNSTARVE_PY_SPY");
  CHECK(find_py_spy(folder.path() / "python3") == program);
  setenv("UNSTARVE_PY_SPY", "/opt/py-spy", 1);
  CHECK(find_py_spy(folder.path() / "python3") == "/opt/py-spy");
  unsetenv("UNSTARVE_PY_SPY");
}

}  // namespace
}  // namespace unstarve
