#include "unstarve/diagnose/probes/thread_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "unstarve/core/clock.h"
#include "unstarve/core/file_descriptor.h"
#include "unstarve/core/machine/thread_time.h"
#include "unstarve/diagnose/probes/descriptor_target.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

constexpr std::size_t kThreads = 12, kWorkers = 6, kProcesses = 32, kMostSamples = 800;
constexpr double kFirstWindow = 2;   // seconds of the process before it
constexpr double kChoice = 0.25;     // seconds in which the busiest threads are found
constexpr double kUnknownSteps = 4;  // seconds of a window
constexpr double kShortest = 2, kLongestOfSteps = 60, kStepsInWindow = 5;
constexpr double kLeastUse = 0.01;                        // share of the time of kChoice
constexpr std::size_t kFewestKept = 100;                  // of a window that replaces an earlier one
constexpr int kEarlyWindows = 3;                          // the start of the program may be long
constexpr double kMoreOften = 2, kLongestDistance = 600;  // of early windows; seconds

// A process in which threads are sampled.
using Candidate = std::pair<int, ProcessRole>;

// Reads files of one thread that remain open.
class ThreadFiles {
 public:
  ThreadFiles(int pid, int tid) : pid_(pid), tid_(tid) {
    schedule_ = open_file("schedstat");
    call_ = open_file("syscall");
  }
  [[nodiscard]] int tid() const { return tid_; }
  // Nothing: the thread has ended, or the kernel does not have its times.
  std::optional<RunTimes> times() { return parse_run_times(read(schedule_)); }
  // Nothing: unknown.
  std::optional<Wait> wait() {
    const std::string_view text = read(call_);
    if (text.starts_with("running")) return Wait::kNone;
    const std::optional<SystemCall> call = parse_system_call(text);
    if (!call) return std::nullopt;
    if (call->number == SystemCall::kNone) return Wait::kOther;  // for a page
    std::string target;
    if (has_descriptor(*call)) target = target_.read(fmt::format("/proc/{}/fd/{}", pid_, call->argument));
    return wait_of(*call, target);
  }
  std::string name() {
    std::string_view name = read(open_file("comm"));
    if (name.ends_with('\n')) name.remove_suffix(1);
    return printable(name);
  }

 private:
  [[nodiscard]] FileDescriptor open_file(const char* name) const {
    return FileDescriptor(::open(fmt::format("/proc/{}/task/{}/{}", pid_, tid_, name).c_str(), O_RDONLY | O_CLOEXEC));
  }
  std::string_view read(const FileDescriptor& file) { return read_again(file, buffer_); }
  int pid_, tid_;
  FileDescriptor schedule_, call_;
  DescriptorTarget target_;
  std::array<char, 256> buffer_{};
};

std::vector<int> threads_of(int pid) { return numbers_in(fmt::format("/proc/{}/task", pid)); }

// CPU time that a thread used or waited for, in nanoseconds.
std::int64_t demand_of(int pid, int tid) {
  const std::optional<RunTimes> times = ThreadFiles(pid, tid).times();
  return times ? times->running_ns + times->waiting_ns : 0;
}

struct ChosenThread {
  int pid, tid;
  std::string kind;  // "main", "worker", "thread"
};

// `before`: the demand of each thread `seconds` ago.
std::vector<ChosenThread> choose(const std::vector<Candidate>& candidates,
                                 const std::map<std::pair<int, int>, std::int64_t>& before, double seconds) {
  struct Thread {
    ChosenThread chosen;
    int rank;  // lower ones first
    double demand;
  };
  std::vector<Thread> threads;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    for (const int tid : threads_of(candidates[i].first)) {
      const int pid = candidates[i].first;
      const auto known = before.find({pid, tid});
      const double demand =
          known == before.end() ? 0 : 1e-9 * static_cast<double>(demand_of(pid, tid) - known->second) / seconds;
      const bool main = i == 0 && tid == pid;
      const bool worker = candidates[i].second == ProcessRole::kLoader && tid == pid;
      if (!main && !worker && demand < kLeastUse) continue;
      threads.push_back({{pid, tid, main ? "main" : worker ? "worker" : "thread"}, main ? 0 : worker ? 1 : 2, demand});
    }
  }
  std::ranges::stable_sort(threads, [](const Thread& a, const Thread& b) {
    return std::pair(a.rank, -a.demand) < std::pair(b.rank, -b.demand);
  });
  std::vector<ChosenThread> chosen;
  std::size_t workers = 0;
  for (const Thread& thread : threads) {
    if (chosen.size() == kThreads) break;
    if (thread.rank == 1 && ++workers > kWorkers) continue;
    chosen.push_back(thread.chosen);
  }
  return chosen;
}

}  // namespace

class ThreadProbe::State {
 public:
  explicit State(const ThreadProbeOptions& options) : options_(options) {}

  void look(double seconds, std::span<const ProcessUse> processes, double step_s, const MarksOf& marks_of) {
    if (thread_.joinable()) {
      if (!ended_) return;
      end_window(seconds, marks_of);
    }
    if (seconds < next_s_) return;
    const auto main = std::ranges::find_if(
        processes, [](const ProcessUse& process) { return process.role == ProcessRole::kMain && !process.ended; });
    if (main == processes.end() || seconds < main->begin_s + kFirstWindow) return;
    std::vector<Candidate> candidates{{main->pid, main->role}};
    for (const ProcessUse& process : processes) {
      if (candidates.size() == kProcesses) break;
      if (!process.ended && process.pid != 0 && process.pid != main->pid)
        candidates.emplace_back(process.pid, process.role);
    }
    const double length = step_s > 0 ? std::clamp(kStepsInWindow * step_s, kShortest, kLongestOfSteps) : kUnknownSteps;
    ended_ = false;
    thread_ = std::jthread([this, candidates = std::move(candidates), length](const std::stop_token& stop) {
      record(candidates, length / static_cast<double>(kMostSamples), stop);
    });
  }

  void finish(const MarksOf& marks_of) {
    if (thread_.joinable()) end_window(0, marks_of);
  }
  [[nodiscard]] const Window& window() const { return window_; }
  [[nodiscard]] double cpu_s() const { return cpu_s_; }

 private:
  // The thread of a window.
  void record(const std::vector<Candidate>& candidates, double interval_s, const std::stop_token& stop) {
    try {
      std::mutex mutex;
      std::condition_variable_any never;
      std::unique_lock lock(mutex);
      const auto wait = [&](double seconds) {
        never.wait_for(lock, stop, std::chrono::duration<double>(std::max(seconds, 0.0)), [] { return false; });
      };
      std::map<std::pair<int, int>, std::int64_t> before;
      for (const Candidate& candidate : candidates)
        for (const int tid : threads_of(candidate.first))
          before[{candidate.first, tid}] = demand_of(candidate.first, tid);
      wait(kChoice);
      sample(choose(candidates, before, kChoice), interval_s, stop, wait);
    } catch (...) {
      failure_ = std::current_exception();
    }
    window_cpu_s_ = 1e-9 * static_cast<double>(thread_cpu_ns());
    ended_ = true;
  }

  template <class Pause>
  void sample(const std::vector<ChosenThread>& chosen, double interval_s, const std::stop_token& stop,
              const Pause& wait) {
    ThreadSamples& samples = recorded_;
    samples = {};
    std::vector<ThreadFiles> files;
    std::vector<ThreadLook> looks;
    for (const ChosenThread& thread : chosen) {
      ThreadFiles opened(thread.pid, thread.tid);
      const std::optional<RunTimes> times = opened.times();
      if (!times) continue;
      looks.push_back({*times, opened.wait()});
      samples.threads.push_back({fmt::format("{} {} {}", thread.kind, thread.tid, opened.name()), {}});
      files.push_back(std::move(opened));
    }
    // The first one may be missing: its kernel has no times of threads, or it has ended.
    if (files.empty() || chosen[0].kind != "main" || files[0].tid() != chosen[0].tid) {
      samples = {};
      return;
    }
    samples.process = chosen[0].pid;
    const double begin = seconds_now();
    samples.times.push_back(begin);
    while (samples.times.size() <= kMostSamples && !stop.stop_requested()) {
      wait(begin + static_cast<double>(samples.times.size()) * interval_s - seconds_now());
      const double now = seconds_now();
      if (now <= samples.times.back()) continue;
      for (std::size_t i = 0; i < files.size(); ++i) {
        std::vector<ThreadState>& states = samples.threads[i].states;
        if (states.size() + 1 != samples.times.size()) continue;  // it has ended
        const std::optional<RunTimes> times = files[i].times();
        if (!times && i == 0) return;
        if (!times) continue;
        ThreadLook look{*times, looks[i].wait};
        // A thread that has not run is still in the same system call, if it was in one.
        if (times->running_ns != looks[i].times.running_ns || look.wait == Wait::kNone) look.wait = files[i].wait();
        states.push_back(state_between(looks[i], look, now - samples.times.back(),
                                       states.empty() ? ThreadState::kWaiting : states.back()));
        looks[i] = look;
      }
      samples.times.push_back(now);
    }
  }

  void end_window(double seconds, const MarksOf& marks_of) {
    thread_.request_stop();
    thread_.join();
    cpu_s_ += window_cpu_s_;
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    const double share = ++windows_ < kEarlyWindows ? kMoreOften * options_.cpu_share : options_.cpu_share;
    next_s_ = seconds + std::min(window_cpu_s_ / share, kLongestDistance);
    if (recorded_.times.size() < 2 || (!window_.samples.threads.empty() && recorded_.times.size() < kFewestKept))
      return;
    window_.samples = std::exchange(recorded_, {});
    window_.marks = marks_of(window_.samples.process);
  }

  const ThreadProbeOptions options_;
  double next_s_ = 0, cpu_s_ = 0;
  int windows_ = 0;
  Window window_;
  // Of the present window; its thread writes them before `ended_`.
  double window_cpu_s_ = 0;
  ThreadSamples recorded_;
  std::exception_ptr failure_;
  std::atomic<bool> ended_ = false;
  std::jthread thread_;  // last: uses the others
};

ThreadProbe::ThreadProbe(const ThreadProbeOptions& options) : state_(std::make_unique<State>(options)) {}
ThreadProbe::~ThreadProbe() = default;
void ThreadProbe::look(double seconds, std::span<const ProcessUse> processes, double step_s, const MarksOf& marks_of) {
  state_->look(seconds, processes, step_s, marks_of);
}
void ThreadProbe::finish(const MarksOf& marks_of) { state_->finish(marks_of); }
const ThreadProbe::Window& ThreadProbe::window() const { return state_->window(); }
double ThreadProbe::cpu_s() const { return state_->cpu_s(); }

}  // namespace unstarve
