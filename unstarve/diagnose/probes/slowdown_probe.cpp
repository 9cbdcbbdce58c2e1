#include "unstarve/diagnose/probes/slowdown_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/statistics.h"
#include "unstarve/diagnose/probes/proc_text.h"
#include "unstarve/diagnose/probes/step_log.h"

namespace unstarve {
namespace {

constexpr double kPeriod = 0.05;     // seconds
constexpr double kFewSteps = 8;      // of a phase, at least
constexpr double kLongestPhase = 6;  // seconds of a phase
constexpr std::size_t kMostStopped = 1024;

using Stopped = std::array<std::atomic<int>, kMostStopped>;  // process ids; 0: free
static_assert(std::atomic<int>::is_always_lock_free);

void continue_all(Stopped& stopped) {
  for (std::atomic<int>& entry : stopped) {
    if (const int pid = entry.load(); pid > 0) ::kill(pid, SIGCONT);
    entry.store(0);
  }
}

}  // namespace

class SlowdownGuard::State {
 public:
  State() {
    void* const memory = ::mmap(nullptr, sizeof(Stopped), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    stopped_ = new (memory) Stopped{};
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    process_ = ::fork();
    if (process_ == 0) {
      ::close(ends[1]);
      ::setpgid(0, 0);  // signals to the group of the terminal do not end it
      char byte = 0;
      while (::read(ends[0], &byte, 1) < 0) {
      }
      continue_all(*stopped_);  // the other end is closed: this process has ended
      ::_exit(0);
    }
    ::close(ends[0]);
    alive_ = ends[1];
  }
  ~State() {
    if (stopped_ != nullptr) continue_all(*stopped_);
    if (alive_ >= 0) ::close(alive_);
    if (process_ > 0) ::waitpid(process_, nullptr, 0);
    if (stopped_ != nullptr) ::munmap(stopped_, sizeof(Stopped));
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void stop(int pid) {
    if (!runs()) return;
    for (std::atomic<int>& entry : *stopped_) {
      if (entry.load() != 0) continue;
      entry.store(pid);  // before it is stopped: the guard continues it in any case
      ::kill(pid, SIGSTOP);
      return;
    }
  }
  void resume_all() {
    if (stopped_ != nullptr) continue_all(*stopped_);
  }
  [[nodiscard]] int process() const { return process_ > 0 ? process_ : 0; }
  // The guard has the only reading end of the pipe.
  [[nodiscard]] bool runs() const {
    pollfd pipe{alive_, 0, 0};
    return alive_ >= 0 && ::poll(&pipe, 1, 0) == 0;
  }

 private:
  Stopped* stopped_ = nullptr;  // shared with the guard
  int alive_ = -1;              // closed when this process ends
  pid_t process_ = -1;
};

SlowdownGuard::SlowdownGuard() : state_(std::make_unique<State>()) {}
SlowdownGuard::~SlowdownGuard() = default;
int SlowdownGuard::process() const { return state_->process(); }
bool SlowdownGuard::runs() const { return state_->runs(); }
void SlowdownGuard::stop(int pid) { state_->stop(pid); }
void SlowdownGuard::resume_all() { state_->resume_all(); }

class SlowdownProbe::Thread {
 public:
  Thread(SlowdownGuard& guard, SlowdownProbeOptions options)
      : guard_(guard), options_(std::move(options)), thread_([this] { run(); }) {}
  ~Thread() { stop(); }

  SlowdownChecks finish() {
    stop();
    SlowdownChecks checks;
    checks.slowdown = kSlowdown;
    checks.progress = by_steps_ ? "un.step()" : "bytes read";
    for (const Group& group : groups_) {
      const int pairs = static_cast<int>(group.slowed.size());
      if (pairs < kFewestPairs) continue;
      const RatioInterval ratio = ratio_interval(group.slowed, group.normal);
      const auto sensitivity = [](double rate) { return (1 - rate) / kSlowdown; };
      checks.groups.push_back(
          {group.role, sensitivity(ratio.ratio), sensitivity(ratio.high), sensitivity(ratio.low), pairs});
    }
    if (guard_.process() == 0)
      checks.problem = "the guard process could not be started";
    else if (checks.groups.empty() && !guard_.runs())
      checks.problem = "the guard process was killed";
    else if (checks.groups.empty())
      checks.problem = problem_.empty() ? "the program ended before enough phases were measured" : problem_;
    return checks;
  }

 private:
  struct Group {
    ProcessRole role;
    std::vector<double> slowed, normal;  // progress per second of the phases
    int tried = 0;                       // pairs, also those without progress
  };

  void stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
    guard_.resume_all();
  }
  // False: the caller ends.
  bool wait(double seconds) {
    std::unique_lock lock(mutex_);
    return !changed_.wait_for(lock, std::chrono::duration<double>(std::max(seconds, 0.0)), [this] { return stop_; });
  }

  void run() {
    if (guard_.process() == 0 || !wait(options_.begin_s)) return;
    while (true) {
      bool measured = false;
      for (Group& group : groups_) {
        if (static_cast<int>(group.slowed.size()) >= kMostPairs || group.tried >= 2 * kMostPairs) continue;
        if (pids_of(group.role).empty()) continue;
        measured = true;
        ++group.tried;
        // The order changes, so that a drift of the program affects both.
        const bool first = group.slowed.size() % 2 == 0;
        double rate[2];
        for (const bool slowed : {first, !first})
          if (!phase(group.role, slowed, rate[slowed ? 1 : 0])) return;
        if (rate[0] <= 0 || rate[1] <= 0) continue;  // for example while it saves a checkpoint
        group.normal.push_back(rate[0]);
        group.slowed.push_back(rate[1]);
      }
      if (!measured) {
        const bool no_loader = pids_of(ProcessRole::kLoader).empty();
        problem_ = "no progress could be counted: the program neither calls un.step() nor reads files";
        if (no_loader) problem_ = "the program has no loader processes that could be slowed";
        return;
      }
    }
  }

  // Progress per second, slowed or not.
  bool phase(ProcessRole role, bool slowed, double& rate) {
    const double begin = seconds_now(), before = progress();
    const double length = phase_length();
    double end = begin;
    for (int period = 1; end - begin < length; ++period) {
      if (slowed) {
        if (!guard_.runs()) return false;  // nothing would be stopped
        for (const int pid : pids_of(role)) guard_.stop(pid);
        const bool continues = wait(kSlowdown * kPeriod);
        guard_.resume_all();
        if (!continues) return false;
      }
      if (!wait(begin + period * kPeriod - seconds_now())) return false;
      end = seconds_now();
    }
    rate = (progress() - before) / (end - begin);
    if (rate > 0 && by_steps_) steps_per_s_ = rate;
    return true;
  }

  [[nodiscard]] double phase_length() const {
    const double few = by_steps_ && steps_per_s_ > 0 ? kFewSteps / steps_per_s_ : 0;
    return std::clamp(few, options_.phase_s, std::max(options_.phase_s, kLongestPhase));
  }

  [[nodiscard]] std::vector<int> pids_of(ProcessRole role) const {
    std::vector<int> pids;
    const std::shared_ptr<const RunProfile> profile = options_.latest->get();
    if (!profile) return pids;
    for (const ProcessUse& process : profile->processes)
      if (process.role == role && !process.ended && process.pid > 0) pids.push_back(process.pid);
    return pids;
  }

  double progress() {
    if (const std::int64_t count = read_step_logs(options_.steps).count; count > 0) {
      by_steps_ = true;
      return static_cast<double>(count);
    }
    by_steps_ = false;
    double bytes = 0;
    for (const ProcessRole role : {ProcessRole::kMain, ProcessRole::kLoader}) {
      for (const int pid : pids_of(role)) {
        try {
          const auto counts = parse_io_counts(read_text_file(fmt::format("/proc/{}/io", pid)));
          if (counts) bytes += static_cast<double>(counts->read_bytes);
        } catch (const Error&) {  // it has ended
        }
      }
    }
    return bytes;
  }

  SlowdownGuard& guard_;
  const SlowdownProbeOptions options_;
  std::array<Group, 2> groups_{Group{ProcessRole::kLoader, {}, {}, 0}, Group{ProcessRole::kMain, {}, {}, 0}};
  bool by_steps_ = false;
  double steps_per_s_ = 0;
  std::string problem_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;  // last: uses the others
};

SlowdownProbe::SlowdownProbe(SlowdownGuard& guard, SlowdownProbeOptions options)
    : thread_(std::make_unique<Thread>(guard, std::move(options))) {}
SlowdownProbe::~SlowdownProbe() = default;
SlowdownChecks SlowdownProbe::finish() { return thread_->finish(); }

}  // namespace unstarve
