#include "unstarve/diagnose/probes/sampler.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <exception>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/core/file.h"
#include "unstarve/core/thread_time.h"
#include "unstarve/diagnose/probes/gpu_probe.h"
#include "unstarve/diagnose/probes/machine_probe.h"
#include "unstarve/diagnose/probes/stack_probe.h"
#include "unstarve/diagnose/probes/step_log.h"
#include "unstarve/diagnose/probes/step_probe.h"
#include "unstarve/diagnose/probes/task_tree.h"
#include "unstarve/diagnose/probes/thread_probe.h"
#include "unstarve/diagnose/probes/timeline_recorder.h"
#include "unstarve/diagnose/profile/roles.h"
#include "unstarve/diagnose/profile/steady_part.h"
#include "unstarve/diagnose/ranks/rank_uses.h"
#include "unstarve/diagnose/traces/kernel_logs.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

constexpr double kThrottled = 0.02;  // share of the periods of a CPU quota in which tasks were stopped

double thread_cpu_s() { return 1e-9 * static_cast<double>(thread_cpu_ns()); }

// Added to seconds of CLOCK_MONOTONIC.
double to_unix_s() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - seconds_now();
}

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return printable(name);
}

RankNumbers rank_numbers_of(int pid) {
  try {
    return parse_rank_numbers(read_text_file(fmt::format("/proc/{}/environ", pid)));
  } catch (const Error&) {  // of another user
    return {};
  }
}

// Ranges mark steps exactly, but only in windows: steps that fill them are better known by the stacks.
const StepUse& more_exact(const StepUse& ranges, const StepUse& stacks) {
  constexpr std::size_t kEnough = 8;
  return ranges.seconds.size() >= kEnough || stacks.source.empty() ? ranges : stacks;
}

// Of the windows in which kernels were recorded.
StepUse steps_of_kernels(const TraceUse& trace) {
  constexpr std::size_t kMost = 2048;
  StepUse steps;
  if (trace.steps.empty() || trace.analysed_s <= 0) return steps;
  steps.source = "the sequence of kernels";
  steps.rate = static_cast<double>(trace.steps.size()) / trace.analysed_s;
  for (std::size_t i = trace.steps.size() - std::min(trace.steps.size(), kMost); i < trace.steps.size(); ++i)
    steps.seconds.push_back(trace.steps[i].seconds);
  return steps;
}

// When to do something again whose cost is limited.
struct Pace {
  double shortest_s, longest_s;
  double next_s = 0;
  void done(double now_s, double cost_s, double share) {
    next_s = now_s + std::clamp(cost_s / share, shortest_s, longest_s);
  }
};

}  // namespace

class Sampler::Thread {
 public:
  Thread(int process, const SamplerOptions& options)
      : options_(options),
        begin_(seconds_now()),
        tree_(process, {.adopter = options.adopter, .guard = options.guard}),
        machine_(process),
        gpus_({.cpu_share = options.cpu_share, .library = "", .root = "/"}),
        thread_([this] { run(); }) {}
  ~Thread() { stop(); }

  RunProfile finish() {
    stop();
    if (!failure_.empty()) throw Error(ErrorKind::kInternal, "watching failed: " + failure_);
    const double seconds = now();
    tree_.find(seconds, stacks_.recorder());
    tree_.look(seconds);
    machine_.look();
    ++looks_;
    std::vector<ProcessUse> processes = with_roles();
    gpus_.stop();
    periods_.finish();
    threads_.finish(marks_of_steps());
    add_to_timeline(seconds, processes);
    read_rank_numbers(processes);
    PythonStacks stacks = stacks_.finish();
    read_kernels();
    return profile_of(seconds, std::move(processes), std::move(stacks));
  }

  [[nodiscard]] int recorder() const {
    const std::lock_guard lock(recorder_mutex_);
    return recorder_;
  }

 private:
  [[nodiscard]] double now() const { return seconds_now() - begin_; }
  [[nodiscard]] std::vector<ProcessUse> with_roles() const {
    std::vector<ProcessUse> processes = tree_.use();
    set_roles(processes);
    return processes;
  }

  void add_to_timeline(double seconds, std::span<const ProcessUse> processes) {
    gpus_.set_program(processes);
    timeline_.add(seconds, processes, gpus_.take_utilisation(), machine_.network());
  }

  void read_kernels() {
    kernels_ = read_kernel_logs(options_.steps,
                                [this](std::uint32_t program) { return read_step_times(options_.steps, program); });
  }

  [[nodiscard]] RunProfile profile_of(double seconds, std::vector<ProcessUse> processes, PythonStacks stacks) const {
    RunProfile profile;
    profile.machine = machine_.use(seconds);
    profile.processes = std::move(processes);
    steady_.set(profile, seconds);
    profile.timeline = timeline_.timeline();
    profile.stacks = std::move(stacks);
    profile.steps = read_step_logs(options_.steps);
    if (profile.steps.source.empty()) profile.steps = more_exact(kernels_.steps, stacks_.steps());
    // The periods of a CPU quota are not steps.
    if (profile.steps.source.empty() && profile.machine.throttled_share < kThrottled) profile.steps = periods_.steps();
    profile.trace = kernels_.trace;
    // Single steps are better than a period.
    if (profile.steps.seconds.empty() && profile.trace && !is_disturbed(*profile.trace)) {
      StepUse steps = steps_of_kernels(*profile.trace);
      if (!steps.source.empty()) profile.steps = std::move(steps);
    }
    profile.thread_window = thread_window_of(profile);
    profile.gpus = gpus_.use();
    profile.watching = {seconds,         looks_, cpu_s_ + gpus_.cpu_s() + periods_.cpu_s() + threads_.cpu_s(),
                        stacks_.cpu_s(), "",     gpus_.missing(),
                        kernels_.missing};
    profile.ranks = rank_uses(profile, host_name(), begin_ + to_unix_s(), rank_facts());
    if (!profile.trace) return profile;
    for (ProcessKernels& process : profile.trace->processes) {
      const auto rank = std::find_if(profile.ranks.begin(), profile.ranks.end(),
                                     [&](const RankUse& one) { return one.pid == process.pid; });
      if (rank != profile.ranks.end()) process.rank = rank->numbers.global;
    }
    return profile;
  }

  [[nodiscard]] ThreadProbe::MarksOf marks_of_steps() const {
    return [this](int process) {
      std::vector<double> times = read_step_times(options_.steps, static_cast<std::uint32_t>(process));
      return StepMarks{times.empty() ? "" : "un.step()", std::move(times)};
    };
  }

  // Duration of a step, as far as it is known; 0: it is not.
  [[nodiscard]] double step_s() const {
    StepUse steps = read_step_logs(options_.steps);
    if (steps.source.empty()) steps = stacks_.steps();
    if (steps.source.empty()) steps = periods_.steps();
    return steps.rate > 0 ? 1 / steps.rate : 0;
  }

  // The steps of the latest window by marks, by ranges, or by what its main thread repeats.
  [[nodiscard]] ThreadWindow thread_window_of(const RunProfile& profile) const {
    const ThreadSamples& samples = threads_.window().samples;
    if (samples.threads.empty()) return {};
    const auto within = [&](const StepMarks& marks) {
      return std::count_if(marks.begins.begin(), marks.begins.end(), [&](double time) {
               return time >= samples.times.front() && time <= samples.times.back();
             }) >= 2;
    };
    StepMarks marks = threads_.window().marks;
    if (!within(marks) && kernels_.ranges.first == samples.process) {
      marks = {"NVTX ranges", {}};
      for (const Interval& range : kernels_.ranges.second) {
        for (const std::int64_t ns : {range.begin, range.end}) {
          const double time = 1e-9 * static_cast<double>(ns);
          if (marks.begins.empty() || time > marks.begins.back()) marks.begins.push_back(time);
        }
      }
    }
    if (!within(marks)) marks = profile.steps.rate > 0 ? repeated_steps(samples, 1 / profile.steps.rate) : StepMarks{};
    return thread_window(samples, marks, begin_);
  }

  [[nodiscard]] std::map<int, RankFacts> rank_facts() const {
    std::map<int, RankFacts> facts;
    for (const auto& [pid, numbers] : numbers_) facts[pid].numbers = numbers;
    for (auto& [pid, stacks] : stacks_.by_process()) facts[pid].stacks = stacks;
    for (const auto& [pid, rate] : kernels_.step_rates) facts[pid].steps.rate = rate;
    for (auto& [pid, steps] : read_rank_steps(options_.steps, to_unix_s())) facts[pid].steps = steps;
    return facts;
  }

  // Only the environment that a process was started with is known: it is read once.
  void read_rank_numbers(std::span<const ProcessUse> processes) {
    for (const ProcessUse& process : processes)
      if (process.role == ProcessRole::kMain && !process.ended && !numbers_.contains(process.pid))
        numbers_[process.pid] = rank_numbers_of(process.pid);
  }

  // py-spy reads the memory of the program, and the guard's experiment stops its processes periodically.
  [[nodiscard]] bool periods_are_allowed() const {
    return options_.guard == 0 && stacks_.recorder() == 0 && stacks_.steps().source.empty() &&
           read_step_logs(options_.steps).source.empty();
  }

  void stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void run() {
    try {
      sample();
    } catch (const std::exception& error) {
      failure_ = error.what();
    }
  }

  void sample() {
    Pace look{0.02, 10}, find{1, 60}, kernels{5, 600};
    const double begin_cpu = thread_cpu_s();
    while (true) {
      const double seconds = now();
      if (seconds >= find.next_s) {
        const double before = thread_cpu_s();
        tree_.find(seconds, stacks_.recorder());
        machine_.look();
        std::vector<ProcessUse> processes = with_roles();
        add_to_timeline(seconds, processes);
        steady_.add(seconds, processes);
        read_rank_numbers(processes);
        {
          const std::lock_guard lock(recorder_mutex_);
          stacks_.look(seconds, processes);
          recorder_ = stacks_.recorder();
        }
        periods_.look(seconds, processes, [this] { return periods_are_allowed(); });
        // The guard's experiment stops processes.
        if (options_.guard == 0) threads_.look(seconds, processes, step_s(), marks_of_steps());
        if (options_.latest && seconds >= kernels.next_s) {  // a log may have 32 MB
          const double begin = thread_cpu_s();
          read_kernels();
          kernels.done(seconds, thread_cpu_s() - begin, options_.cpu_share);
        }
        if (options_.latest) {
          options_.latest->set(
              std::make_shared<RunProfile>(profile_of(seconds, std::move(processes), stacks_.so_far())));
        }
        find.done(seconds, thread_cpu_s() - before, options_.cpu_share);
      }
      if (seconds >= look.next_s) {
        const double before = thread_cpu_s();
        tree_.look(seconds);
        ++looks_;
        look.done(seconds, thread_cpu_s() - before, options_.cpu_share);
      }
      cpu_s_ = thread_cpu_s() - begin_cpu;
      const double wait = std::max(std::min(look.next_s, find.next_s) - now(), 0.001);
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, std::chrono::duration<double>(wait), [this] { return stop_; })) return;
    }
  }

  const SamplerOptions options_;
  const double begin_;
  TaskTree tree_;
  MachineProbe machine_;
  GpuProbe gpus_;
  TimelineRecorder timeline_;
  SteadyPart steady_;
  StackProbe stacks_;
  StepProbe periods_;
  ThreadProbe threads_;
  RecordedKernels kernels_;             // when they were last read
  std::map<int, RankNumbers> numbers_;  // by process id
  mutable std::mutex recorder_mutex_;   // held while the recorder is started, so that its number is never unknown
  int recorder_ = 0;
  std::int64_t looks_ = 0;
  double cpu_s_ = 0;
  std::string failure_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;  // last: uses the others
};

Sampler::Sampler(int process, const SamplerOptions& options) : thread_(std::make_unique<Thread>(process, options)) {}
Sampler::~Sampler() = default;
RunProfile Sampler::finish() { return thread_->finish(); }
int Sampler::recorder() const { return thread_->recorder(); }

}  // namespace unstarve
