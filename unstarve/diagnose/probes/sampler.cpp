#include "unstarve/diagnose/probes/sampler.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "unstarve/core/error.h"
#include "unstarve/core/machine/thread_time.h"
#include "unstarve/diagnose/probes/pace.h"
#include "unstarve/diagnose/probes/run_probes.h"

namespace unstarve {
namespace {

double thread_cpu_s() { return 1e-9 * static_cast<double>(thread_cpu_ns()); }

}  // namespace

class Sampler::Thread {
 public:
  Thread(int process, const SamplerOptions& options)
      : options_(options),
        probes_(process, {options.adopter, options.guard, options.steps, options.cpu_share}),
        thread_([this] { run(); }) {}
  ~Thread() { stop(); }

  RunProfile finish() {
    stop();
    if (!failure_.empty()) throw Error(ErrorKind::kInternal, "watching failed: " + failure_);
    return probes_.finish(cost_);
  }

  [[nodiscard]] int recorder() const {
    const std::lock_guard lock(recorder_mutex_);
    return recorder_;
  }

 private:
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
    constexpr double kBetweenStacks = 1;
    Pace look(0.02, 10), find(1, 60), kernels(5, 600);
    double stacks_s = 0;
    const double begin_cpu = thread_cpu_s();
    while (true) {
      const double seconds = probes_.now();
      // Apart from find(), which may be rare: StackProbe limits its CPU time itself.
      if (seconds >= stacks_s) {
        record_stacks(seconds);
        stacks_s = seconds + kBetweenStacks;
      }
      if (seconds >= find.next_s()) {
        const double before = thread_cpu_s();
        find_and_record(seconds, kernels);
        find.done(seconds, thread_cpu_s() - before, options_.cpu_share);
      }
      if (seconds >= look.next_s()) {
        const double before = thread_cpu_s();
        probes_.look(seconds);
        ++cost_.looks;
        look.done(seconds, thread_cpu_s() - before, options_.cpu_share);
      }
      cost_.cpu_s = thread_cpu_s() - begin_cpu;
      const double next = std::min({look.next_s(), find.next_s(), stacks_s});
      const double wait = std::max(next - probes_.now(), 0.001);
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, std::chrono::duration<double>(wait), [this] { return stop_; })) return;
    }
  }

  void find_and_record(double seconds, Pace& kernels) {
    processes_ = probes_.find(seconds);
    probes_.record_threads(seconds, processes_);
    if (!options_.latest) return;
    if (seconds >= kernels.next_s()) {
      const double begin = thread_cpu_s();
      probes_.read_kernels();
      kernels.done(seconds, thread_cpu_s() - begin, options_.cpu_share);
    }
    options_.latest->set(std::make_shared<RunProfile>(probes_.profile(seconds, processes_, cost_)));
  }

  void record_stacks(double seconds) {
    const std::lock_guard lock(recorder_mutex_);
    probes_.record_stacks(seconds, processes_);
    recorder_ = probes_.recorder();
  }

  const SamplerOptions options_;
  RunProbes probes_;
  std::vector<ProcessUse> processes_;  // of the latest find()
  mutable std::mutex recorder_mutex_;  // held while the recorder is started, so that its number is never unknown
  int recorder_ = 0;
  ProbingCost cost_;
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
