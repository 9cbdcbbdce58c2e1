#include "unstarve/diagnose/probes/task_tree.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "unstarve/diagnose/probes/timeline_recorder.h"
#include "unstarve/diagnose/profile/steady_part.h"
#include "unstarve/storage/testing/temporary_folder.h"

namespace unstarve {
namespace {

using SteadyTime = std::chrono::steady_clock;

// A process that runs `script` by sh, in a group of its own that the destructor ends.
class Shell {
 public:
  explicit Shell(const char* script) : pid_(fork()) {
    REQUIRE(pid_ >= 0);
    if (pid_ != 0) return;
    setpgid(0, 0);
    execlp("sh", "sh", "-c", script, nullptr);
    _exit(127);
  }
  ~Shell() {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
    while (waitpid(-pid_, nullptr, 0) > 0) continue;
    waitpid(pid_, nullptr, 0);
  }
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;
  [[nodiscard]] int pid() const { return pid_; }

 private:
  int pid_;
};

// Processes whose parents end become children of this one during its lifetime.
class Adoption {
 public:
  Adoption() { prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~Adoption() { prctl(PR_SET_CHILD_SUBREAPER, 0); }
  Adoption(const Adoption&) = delete;
  Adoption& operator=(const Adoption&) = delete;
};

// Looks at the tree every 20 ms until `done`.
template <class Done>
std::vector<ProcessUse> watch(TaskTree& tree, const Done& done) {
  const SteadyTime::time_point begin = SteadyTime::now();
  while (true) {
    const double seconds = std::chrono::duration<double>(SteadyTime::now() - begin).count();
    REQUIRE(seconds < 60);
    tree.find(seconds);
    tree.look(seconds);
    std::vector<ProcessUse> use = tree.use();
    if (done(use)) return use;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

const ProcessUse* named(const std::vector<ProcessUse>& use, const std::string& name) {
  const auto found = std::find_if(use.begin(), use.end(), [&](const ProcessUse& one) { return one.name == name; });
  return found == use.end() ? nullptr : &*found;
}

TEST_CASE("CPU time of a busy descendant, and a process that outlives its parent") {
  // The sleeping process is a child of a subshell that ends at once.
  const Adoption adoption;
  const Shell shell("(sleep 50 & ) ; md5sum /dev/zero & wait");
  TaskTree tree(shell.pid(), {.adopter = getpid()});
  const auto use = watch(tree, [](const std::vector<ProcessUse>& now) {
    const ProcessUse* const busy = named(now, "md5sum");
    return busy != nullptr && busy->cpu_s >= 0.3 && named(now, "sleep") != nullptr;
  });
  const ProcessUse& busy = *named(use, "md5sum");
  CHECK(&busy == &use.front());
  CHECK(busy.command == "md5sum /dev/zero");
  CHECK(busy.parent == shell.pid());
  REQUIRE_FALSE(busy.threads.empty());  // the busiest first
  CHECK(busy.threads[0].name == "md5sum");
  for (std::size_t i = 1; i < busy.threads.size(); ++i)
    CHECK(busy.threads[i].cpu_s < 0.1);  // "sh", before it starts it
  CHECK(busy.threads[0].cpu_s == Approx(busy.cpu_s).margin(0.1));
  CHECK(busy.busiest_thread_s == busy.threads[0].cpu_s);
  CHECK(busy.has_io);
  CHECK(busy.read_bytes > 1'000'000);
  CHECK(busy.peak_resident_bytes > 100'000);
  CHECK(named(use, "sleep")->cpu_s < 0.1);
}

TEST_CASE("processes that have ended are kept, and short ones are counted with their parent") {
  const Shell shell(
      "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do head -c 20000000 /dev/zero | md5sum; done "
      ">/dev/null; exec sleep 50");
  TaskTree tree(shell.pid());
  const auto use = watch(tree, [](const std::vector<ProcessUse>& now) {
    const ProcessUse* const sleeping = named(now, "sleep");
    return sleeping != nullptr && sleeping->parent != 0;
  });
  const ProcessUse& root = *named(use, "sleep");
  CHECK(root.pid == shell.pid());
  CHECK(root.ended_children_s > 0.1);  // 400 MB through md5sum
  for (const ProcessUse& process : use) CHECK(process.ended == (process.pid != shell.pid()));
}

TEST_CASE("threads are counted while a process lives, also if it has ended") {
  TaskTree* seen = nullptr;
  int most = 0;
  const Shell shell("exec sleep 50");
  {
    TaskTree tree(getpid());
    seen = &tree;
    std::vector<std::thread> threads;
    for (int i = 0; i < 5; ++i)
      threads.emplace_back([] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); });
    seen->look(0.1);
    for (std::thread& thread : threads) thread.join();
    seen->look(0.5);
    for (const ProcessUse& process : seen->use()) {
      if (process.pid != getpid()) continue;
      for (const ThreadUse& group : process.threads) most = std::max(most, group.threads);
    }
  }
  CHECK(most >= 6);
}

TEST_CASE("the busiest thread after the start is known, also if it has ended") {
  TaskTree tree(getpid());
  const auto own = [&] {
    const std::vector<ProcessUse> use = tree.use();
    return *std::ranges::find(use, getpid(), &ProcessUse::pid);
  };
  const auto work = [](int milliseconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    while (std::chrono::steady_clock::now() < end) {
    }
  };
  tree.find(0);
  work(600);  // the start, in this thread
  tree.look(0.3);
  const ProcessUse before = own();
  std::thread worker([&] { work(300); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  tree.look(0.5);
  worker.join();
  tree.look(0.6);
  const std::vector<ProcessUse> steady = use_since({own()}, {before}, 0.3);
  CHECK(steady[0].busiest_thread_s >= 0.02);
  CHECK(steady[0].busiest_thread_begin_s == 0.5);
}

TEST_CASE("what threads wait for") {
  const Shell shell("sleep 50 | cat & md5sum /dev/zero & wait");
  TaskTree tree(shell.pid());
  const auto use = watch(tree, [](const std::vector<ProcessUse>& now) {
    return named(now, "sleep") != nullptr && named(now, "cat") != nullptr && named(now, "md5sum") != nullptr &&
           named(now, "sleep")->main_thread.waits.sleep_s >= 0.5 && named(now, "cat")->main_thread.waits.pipe_s >= 0.5;
  });
  const ThreadUse& sleeping = named(use, "sleep")->main_thread;
  CHECK(sleeping.name == "sleep");
  CHECK(sleeping.waits.sleep_s == Approx(named(use, "sleep")->end_s - named(use, "sleep")->begin_s).margin(0.3));
  CHECK(sleeping.waits.pipe_s < 0.2);
  CHECK(named(use, "cat")->threads[0].waits.pipe_s >= 0.5);
  const ThreadWaits& busy = named(use, "md5sum")->main_thread.waits;
  CHECK(busy.lock_s + busy.pipe_s + busy.sleep_s + busy.events_s < 0.2);
}

TEST_CASE("a process that waits for another one in a socket does not wait for the network") {
  std::array<int, 2> ends{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const pid_t waiting = fork();
  REQUIRE(waiting >= 0);
  if (waiting == 0) {
    char byte = 0;
    (void)!read(ends[0], &byte, 1);
    (void)!recv(ends[0], &byte, 1, 0);
    _exit(0);
  }
  TaskTree tree(waiting);
  const auto pipe_s = [&](double least) {
    const auto use = watch(tree, [&](const std::vector<ProcessUse>& now) {
      return now.at(0).main_thread.waits.pipe_s + now[0].main_thread.waits.network_s >= least;
    });
    CHECK(use.at(0).main_thread.waits.network_s == 0);
    return use[0].main_thread.waits.pipe_s;
  };
  CHECK(pipe_s(0.1) > 0);
  CHECK(write(ends[1], "x", 1) == 1);
  CHECK(pipe_s(0.3) > 0.2);
  kill(waiting, SIGKILL);
  waitpid(waiting, nullptr, 0);
  for (const int end : ends) close(end);
}

TEST_CASE("a process that has ended does not count as alive, and its number may be used again") {
  TaskTree tree(0);
  CHECK(tree.use().empty());
  const auto folder = std::filesystem::temp_directory_path() / ("unstarve-task-tree-" + std::to_string(getpid()));
  const auto write = [&](const char* name, const std::string& text) {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << text;
  };
  const auto stat = [](int parent, int ticks, int start) {
    return "7 (x) S " + std::to_string(parent) + " 1 1 0 -1 0 0 0 0 0 " + std::to_string(ticks) + " 0 0 0 20 0 1 0 " +
           std::to_string(start) + " 4096 10 0\n";
  };
  write("1/stat", stat(0, 5, 1));
  write("7/stat", stat(1, 100, 50));
  TaskTree recorded(1, {.proc = folder});
  recorded.find(0);
  write("7/stat", stat(1, 150, 50));
  recorded.look(1);
  write("7/stat", stat(1, 3, 99));  // another process
  recorded.look(2);
  recorded.find(2);
  recorded.look(3);
  const auto use = recorded.use();
  REQUIRE(use.size() == 3);
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  CHECK(use[0].cpu_s == Approx(50 / ticks));  // since the first look
  CHECK(use[0].ended);
  CHECK(use[1].cpu_s == Approx(3 / ticks));  // since its start
  CHECK_FALSE(use[1].ended);
  CHECK(use[2].cpu_s == 0);
  std::filesystem::remove_all(folder);
}

TEST_CASE("system time of the main thread, without that of other threads") {
  namespace fs = std::filesystem;
  const testing::TemporaryFolder folder;
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto write = [&](const fs::path& task, int user, int system) {
    fs::create_directories(folder.path() / task);
    std::ofstream(folder.path() / task / "stat")
        << "7 (train) S 1 7 7 0 -1 0 0 0 0 0 " << user << ' ' << system << " 0 0 20 0 2 0 5 1000 10 0 0 0\n";
  };
  write("7", 100, 90);
  write("7/task/7", 50, 40);
  write("7/task/8", 50, 50);
  TaskTree tree(7, {.proc = folder.path()});
  tree.look(0);
  CHECK(tree.use().at(0).main_system_s == 0);  // it was running before
  write("7", 200, 190);
  write("7/task/7", 60, 70);
  write("7/task/8", 140, 120);
  tree.look(1);
  CHECK(tree.use().at(0).main_system_s == Approx(30 / ticks));
  fs::remove(folder.path() / "7/task/7/stat");  // it ends
  tree.look(2);
  CHECK(tree.use().at(0).main_system_s == Approx(30 / ticks));
}

TEST_CASE("a thread that ends while it is read keeps its times") {
  namespace fs = std::filesystem;
  const testing::TemporaryFolder folder;
  const fs::path task = folder.path() / "7/task/7";
  fs::create_directories(task);
  std::ofstream(folder.path() / "7/stat") << "7 (train) S 1 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5 1000 10 0 0 0\n";
  std::ofstream(task / "schedstat") << "1000000000 2000000000 1\n";
  TaskTree tree(7, {.proc = folder.path()});
  tree.find(0);
  std::ofstream(task / "schedstat") << "4000000000 7000000000 2\n";
  tree.look(1);
  fs::remove(task / "schedstat");
  tree.look(2);
  CHECK(tree.use().at(0).main_thread.cpu_s == Approx(3));
  CHECK(tree.use().at(0).run_delay_s == Approx(5));
}

TEST_CASE("memory without the pages of files") {
  namespace fs = std::filesystem;
  const testing::TemporaryFolder folder;
  fs::create_directories(folder.path() / "7");
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const auto write = [&](int pages, int file_kilobytes) {
    std::ofstream(folder.path() / "7/stat")
        << "7 (train) S 1 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5 1000 " << pages << " 0 0 0\n";
    std::ofstream(folder.path() / "7/status")
        << "RssAnon:\t300 kB\nRssFile:\t" << file_kilobytes << " kB\nVmSwap:\t20 kB\n";
  };
  write(100, 100);
  TaskTree tree(7, {.proc = folder.path()});
  TimelineRecorder timeline;
  for (int second = 0; second < 5; ++second) {
    write(100 * (second + 1), 1000 * (second + 1));
    tree.find(second);
    tree.look(second);
    std::vector<ProcessUse> use = tree.use();
    use.at(0).role = ProcessRole::kMain;
    CHECK(use[0].resident_bytes == 100 * (second + 1) * page);
    timeline.add(second, use, -1, {});
  }
  CHECK(tree.use().at(0).peak_resident_bytes == 500 * page);
  REQUIRE_FALSE(timeline.timeline().resident_bytes.empty());
  for (const double bytes : timeline.timeline().resident_bytes) CHECK(bytes == 320 << 10);
}

TEST_CASE("processes that have loaded OpenMP") {
  namespace fs = std::filesystem;
  const testing::TemporaryFolder folder;
  const auto write = [&](const std::string& file, const std::string& text) {
    fs::create_directories((folder.path() / file).parent_path());
    std::ofstream(folder.path() / file) << text;
  };
  const auto stat = [&](int threads, int ticks) {
    write("7/stat", "7 (train) S 1 7 7 0 -1 0 0 0 0 0 " + std::to_string(ticks) + " 0 0 0 20 0 " +
                        std::to_string(threads) + " 0 5 1000 10 0 0 0\n");
  };
  const std::string line = "7f00-7f01 r-xp 00000000 00:01 99 /usr/lib/";
  std::string maps;  // larger than the buffer
  for (int i = 0; i < 3000; ++i) maps += line + "libm.so.6\n";
  stat(4, 10);
  write("7/maps", maps);
  TaskTree tree(7, {.proc = folder.path()});
  CHECK_FALSE(tree.use().at(0).has_openmp);
  write("7/maps", maps + line + "libgomp-a34b3233.so.1\n" + maps);
  const auto has_openmp = [&](int threads, int ticks) {
    stat(threads, ticks);
    tree.look(1);
    tree.find(1);
    return tree.use().at(0).has_openmp;
  };
  CHECK_FALSE(has_openmp(4, 20));  // too early
  CHECK(has_openmp(4, 100'000));
  write("7/maps", maps);
  CHECK(has_openmp(4, 900'000));  // it remains known
}

TEST_CASE("files that a thread reads") {
  namespace fs = std::filesystem;
  const testing::TemporaryFolder folder;
  const fs::path process = folder.path() / "7", task = process / "task" / "7";
  fs::create_directories(task);
  fs::create_directories(process / "fd");
  const auto write = [](const fs::path& path, const std::string& text) { std::ofstream(path) << text; };
  write(process / "stat", "7 (python) S 1 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5 1000 10 0 0 0\n");
  write(folder.path() / "small", std::string(5000, 'x'));
  write(folder.path() / "other", std::string(7000, 'x'));
  write(folder.path() / "large", std::string(kSmallFileBytes + 1, 'x'));
  TaskTree tree(7, {.proc = folder.path()});
  int looks = 0;
  const auto look = [&](const char* file, const std::string& call) {
    fs::remove(process / "fd" / "3");
    fs::create_symlink(file[0] == '/' ? fs::path(file) : folder.path() / file, process / "fd" / "3");
    write(task / "syscall", call);
    write(task / "schedstat", std::to_string(++looks) + " 0 0\n");  // it has run since the last look
    tree.look(0.1 * looks);
    return tree.use().at(0).file_samples;
  };
  const auto same = [](const FileSamples& a, const FileSamples& b) {
    return a.samples == b.samples && a.changed == b.changed && a.small == b.small && a.small_bytes == b.small_bytes;
  };
  const std::string read = std::to_string(SYS_read) + " 0x3 0x0\n", to_write = std::to_string(SYS_write) + " 0x3 0x0\n";
  CHECK(same(look("small", read), {1, 1, 1, 5000}));
  CHECK(same(look("small", read), {2, 1, 2, 10'000}));
  CHECK(same(look("other", read), {3, 2, 3, 17'000}));
  CHECK(same(look("large", read), {4, 3, 3, 17'000}));
  CHECK(same(look("small", to_write), {4, 3, 3, 17'000}));
  CHECK(same(look("small", "running\n"), {4, 3, 3, 17'000}));
  CHECK(same(look("/dev/null", read), {4, 3, 3, 17'000}));
  tree.look(10);  // still in the same call
  CHECK(same(tree.use().at(0).file_samples, {4, 3, 3, 17'000}));
}

}  // namespace
}  // namespace unstarve
