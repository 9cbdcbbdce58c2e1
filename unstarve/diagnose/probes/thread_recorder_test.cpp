#include "unstarve/diagnose/probes/thread_recorder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <numeric>

namespace unstarve {
namespace {

namespace fs = std::filesystem;

// Files of the main thread of process 7, with counters that are `n` times the numbers below.
class ProcFiles {
 public:
  ProcFiles() { fs::create_directories(folder()); }
  ~ProcFiles() { fs::remove_all(root_); }
  ProcFiles(const ProcFiles&) = delete;
  ProcFiles& operator=(const ProcFiles&) = delete;
  void set(int n, bool io = true) const {
    write("schedstat", fmt::format("{} {} 0\n", n * 2'000'000, n * 500'000));
    write("status", fmt::format("Name:\ta\nvoluntary_ctxt_switches:\t{}\nnonvoluntary_ctxt_switches:\t9\n", n));
    write("syscall", n % 16 == 15 ? "35 0x7ffd9a8a4d40 0x0\n" : "running\n");  // nanosleep
    if (io)
      write("io", fmt::format("rchar: {}\nwchar: 1\nsyscr: {}\nsyscw: 1\nread_bytes: 0\nwrite_bytes: {}\n"
                              "cancelled_write_bytes: 0\n",
                              100 * n, 4 * n, 10 * n));
  }
  [[nodiscard]] const fs::path& root() const { return root_; }

 private:
  [[nodiscard]] fs::path folder() const { return root_ / "7" / "task" / "7"; }
  void write(const char* name, const std::string& text) const { std::ofstream(folder() / name) << text; }
  fs::path root_ = fs::temp_directory_path() / fmt::format("unstarve-proc-{}", ::getpid());
};

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

TEST_CASE("looks at irregular times become counts in equal intervals") {
  const ProcFiles files;
  files.set(0);
  ThreadRecorder recorder(7, 100, files.root());
  double seconds = 0;
  for (int n = 0; n <= 40; ++n) {
    files.set(n);
    REQUIRE(recorder.look(seconds));
    seconds += n % 2 == 0 ? 0.004 : 0.006;
  }
  CHECK(recorder.looks() == 41);
  CHECK(recorder.seconds() == Approx(0.2));
  CHECK(recorder.cpu_share() == Approx(0.4));
  CHECK(recorder.wait_share() == Approx(0.1));
  CHECK(recorder.sleep_share() == Approx(2 / 5.0));
  const ThreadSeries series = recorder.series(0.01);
  REQUIRE(series.counters.size() == 5);
  const double per_look[] = {0.002, 1, 4, 100, 10};
  for (std::size_t c = 0; c < 5; ++c) {
    CAPTURE(c);
    REQUIRE(series.counters[c].size() >= 19);
    for (const double value : series.counters[c]) CHECK(value == Approx(2 * per_look[c]));
    CHECK(sum_of(series.counters[c]) == Approx(per_look[c] * 2 * static_cast<double>(series.counters[c].size())));
  }
}

TEST_CASE("a thread that ends, files that are missing, and memory that is full") {
  const ProcFiles files;
  files.set(1, false);
  ThreadRecorder recorder(7, 3, files.root());
  CHECK(recorder.look(0));
  files.set(2, false);
  CHECK(recorder.look(0.01));
  CHECK(sum_of(recorder.series(0.005).counters[3]) == 0);  // no io
  CHECK(sum_of(recorder.series(0.005).counters[1]) == Approx(1));
  files.set(3, false);
  CHECK(recorder.look(0.02));
  CHECK_FALSE(recorder.look(0.03));
  CHECK(recorder.looks() == 3);

  ThreadRecorder none(8, 3, files.root());
  CHECK_FALSE(none.look(0));
  CHECK(none.series(0.005).counters[0].empty());
  CHECK(none.cpu_share() == 0);
  CHECK(!step_period(none.series(0.005)));
}

}  // namespace
}  // namespace unstarve
