#include "unstarve/diagnose/metrics/run_counters.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "unstarve/diagnose/metrics/metrics_text.h"
#include "unstarve/diagnose/probes/task_tree.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

ProcessUse process_of(int pid, ProcessRole role, double cpu_s) {
  ProcessUse process;
  process.pid = pid;
  process.role = role;
  process.cpu_s = cpu_s;
  return process;
}

// Counters of a run, each at least as large as in the request before.
class Scrapes {
 public:
  void scrape(const RunProfile& profile) {
    counters_.add(profile);
    std::istringstream lines(metrics_text(profile, counters_, {}));
    std::map<std::string, double> values;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t space = line.rfind(' ');
      if (line.starts_with('#') || line.find("_total") == std::string::npos) continue;
      values[line.substr(0, space)] = std::stod(line.substr(space));
    }
    for (const auto& [series, value] : values_) {
      INFO(series);
      REQUIRE(values.contains(series));
      CHECK(values[series] >= value);
    }
    values_ = std::move(values);
  }
  [[nodiscard]] double value(const std::string& series) const { return values_.at("unstarve_" + series); }

 private:
  RunCounters counters_;
  std::map<std::string, double> values_;
};

// A process of a folder that looks like /proc, whose main thread waits in a pipe.
void write_process(const std::filesystem::path& proc, int pid, int ticks) {
  const std::filesystem::path folder = proc / std::to_string(pid), task = folder / "task" / std::to_string(pid);
  std::filesystem::create_directories(task);
  if (pid > 1 && !std::filesystem::is_symlink(folder / "fd/3")) {
    std::filesystem::create_directories(folder / "fd");
    std::filesystem::create_symlink("pipe:[1]", folder / "fd/3");
  }
  std::ofstream(folder / "stat") << pid << " (x) S " << (pid > 1 ? 1 : 0) << " 1 1 0 -1 0 0 0 0 0 " << ticks
                                 << " 0 0 0 20 0 1 0 " << pid << " 4096 10 0\n";
  std::ofstream(folder / "io") << "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: " << 1000 * ticks
                               << "\nwrite_bytes: 0\n";
  std::ofstream(task / "schedstat") << 1'000'000L * ticks << ' ' << 1'000'000L * ticks << " 1\n";
  std::ofstream(task / "syscall") << SYS_read << " 0x3 0x0\n";
}

TEST_CASE("a process whose role changes, and one that ends") {
  Scrapes scrapes;
  RunProfile profile;
  profile.processes = {process_of(7, ProcessRole::kMain, 5), process_of(8, ProcessRole::kOther, 1)};
  profile.processes[0].main_thread.waits.lock_s = 2;
  profile.steps = {"un.step()", 2, {0.5, 0.5}, 3};
  scrapes.scrape(profile);
  profile.processes[0] = process_of(7, ProcessRole::kLoader, 7);
  profile.processes[0].main_thread.waits.lock_s = 2.5;
  profile.processes[1] = process_of(8, ProcessRole::kMain, 4);
  profile.steps = {};  // unknown for once
  scrapes.scrape(profile);
  CHECK(scrapes.value("cpu_seconds_total{role=\"main\"}") == 8);  // 5 of process 7, 3 of process 8
  CHECK(scrapes.value("cpu_seconds_total{role=\"loader\"}") == 2);
  CHECK(scrapes.value("cpu_seconds_total{role=\"other\"}") == 1);
  CHECK(scrapes.value("main_thread_wait_seconds_total{role=\"main\",kind=\"lock\"}") == 2);
  CHECK(scrapes.value("main_thread_wait_seconds_total{role=\"loader\",kind=\"lock\"}") == 0.5);
  CHECK(scrapes.value("steps_total") == 3);
  profile.processes[0].ended = true;
  profile.processes.push_back(process_of(7, ProcessRole::kLoader, 1));  // its number is used again
  profile.processes[2].begin_s = 3;
  scrapes.scrape(profile);
  CHECK(scrapes.value("cpu_seconds_total{role=\"loader\"}") == 3);
}

TEST_CASE("processes that are added up have been counted before") {
  constexpr int kProcesses = 230;
  const testing::TemporaryFolder folder;
  write_process(folder.path(), 1, 0);
  TaskTree tree(1, {.proc = folder.path()});
  Scrapes scrapes;
  double seconds = 0, used_ticks = 0;
  const auto scrape = [&] {
    RunProfile profile;
    profile.processes = tree.use();
    for (ProcessUse& process : profile.processes)
      process.role = process.pid == 0 ? ProcessRole::kOther : ProcessRole::kLoader;
    scrapes.scrape(profile);
  };
  tree.find(seconds);
  for (int pid = 2; pid < 2 + kProcesses; ++pid) {
    const int ticks = 500 - pid;  // those with the least CPU time are added up as soon as they end
    write_process(folder.path(), pid, ticks);
    tree.find(++seconds);
    write_process(folder.path(), pid, 2 * ticks);
    used_ticks += 2 * ticks;
    tree.look(++seconds);
    if (pid % 3 == 0) scrape();  // some live between two requests
    std::filesystem::remove_all(folder.path() / std::to_string(pid));
    tree.look(++seconds);
  }
  scrape();
  const auto sum = [&](const std::string& name, const std::string& labels) {
    return scrapes.value(name + "{role=\"loader\"" + labels + "}") +
           scrapes.value(name + "{role=\"other\"" + labels + "}");
  };
  CHECK(sum("cpu_seconds_total", "") == Approx(used_ticks / static_cast<double>(sysconf(_SC_CLK_TCK))));
  CHECK(sum("run_delay_seconds_total", "") == Approx(1e-3 * used_ticks));
  CHECK(sum("storage_read_bytes_total", "") == Approx(1000 * used_ticks));
  CHECK(sum("main_thread_wait_seconds_total", ",kind=\"pipe\"") == Approx(kProcesses));  // the second look at each
}

}  // namespace
}  // namespace unstarve
