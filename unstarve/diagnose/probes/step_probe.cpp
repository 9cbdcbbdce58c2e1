#include "unstarve/diagnose/probes/step_probe.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "unstarve/core/machine/thread_time.h"
#include "unstarve/core/statistics.h"
#include "unstarve/diagnose/probes/step_period.h"
#include "unstarve/diagnose/probes/thread_recorder.h"

namespace unstarve {
namespace {

constexpr double kBegin = 4;           // seconds of the process before the first window
constexpr double kShortestWindow = 4;  // seconds
constexpr double kLooks = 0.4;         // share of the looks that were due
constexpr double kBusy = 0.02;         // of a core, at least
constexpr double kSleeps = 0.5;        // of the time, at most
constexpr double kWaits = 0.05;        // of the time, at most, for a result without a second one
constexpr std::size_t kKept = 8;       // results
constexpr double kLongestPause = 600;  // seconds between two windows
constexpr double kRetryS = 1;          // seconds
constexpr double kAgree = 0.1;         // of the median period

}  // namespace

class StepProbe::State {
 public:
  explicit State(const StepProbeOptions& options) : options_(options) {}

  void look(double seconds, std::span<const ProcessUse> processes, const std::function<bool()>& is_allowed) {
    if (thread_.joinable()) {
      const bool allowed = is_allowed();
      if (allowed && !ended_) return;
      end_window(seconds, allowed);
    }
    if (seconds < next_s_) return;
    if (!is_allowed()) {
      next_s_ = seconds + kRetryS;
      return;
    }
    const auto main = std::ranges::find_if(
        processes, [&](const ProcessUse& process) { return process.role == ProcessRole::kMain && !process.ended; });
    if (main == processes.end() || seconds < main->begin_s + kBegin) return;
    if (main->pid != process_) results_.clear();
    process_ = main->pid;
    ended_ = false;
    thread_ = std::jthread([this, pid = main->pid](const std::stop_token& stop) { record(pid, stop); });
  }

  void finish() {
    if (thread_.joinable()) end_window(0, true);
  }

  [[nodiscard]] StepUse steps() const {
    std::vector<double> periods;
    for (const Result& result : results_)
      if (result.period) periods.push_back(*result.period);
    if (periods.empty()) return {};
    const double period = median(periods);
    const auto agreeing =
        std::ranges::count_if(periods, [&](double one) { return std::abs(one - period) <= kAgree * period; });
    if (2 * static_cast<std::size_t>(agreeing) <= results_.size()) return {};
    if (results_.size() == 1 && results_.front().waited) return {};
    StepUse steps;
    steps.source = "the period of the main thread's work";
    steps.rate = 1 / period;
    return steps;
  }
  [[nodiscard]] double cpu_s() const { return cpu_s_; }

 private:
  struct Result {
    std::optional<double> period;
    bool waited = false;  // the thread, for a core
  };

  // The thread of a window.
  void record(int process, const std::stop_token& stop) {
    try {
      ThreadRecorder recorder(process, static_cast<std::size_t>(options_.window_s / options_.interval_s) + 1);
      recorder.record(options_.interval_s, stop);
      const double seconds = recorder.seconds();
      const double due = seconds / options_.interval_s;
      if (seconds >= kShortestWindow && static_cast<double>(recorder.looks()) >= kLooks * due) {
        usable_ = true;
        result_.waited = recorder.wait_share() > kWaits;
        if (recorder.cpu_share() >= kBusy && recorder.sleep_share() < kSleeps)
          result_.period = step_period(recorder.series(options_.interval_s));
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
    window_cpu_s_ = 1e-9 * static_cast<double>(thread_cpu_ns());
    ended_ = true;
  }

  void end_window(double seconds, bool counts) {
    thread_.request_stop();
    thread_.join();
    cpu_s_ += window_cpu_s_;
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (counts && usable_) {
      results_.push_back(result_);
      if (results_.size() > kKept) results_.pop_front();
    }
    next_s_ = seconds + std::min(window_cpu_s_ / options_.cpu_share, kLongestPause);
    usable_ = false;
    result_ = {};
  }

  const StepProbeOptions options_;
  int process_ = 0;
  double next_s_ = 0, cpu_s_ = 0;
  std::deque<Result> results_;  // of the latest windows
  // Of the present window; its thread writes them before `ended_`.
  double window_cpu_s_ = 0;
  bool usable_ = false;
  Result result_;
  std::exception_ptr failure_;
  std::atomic<bool> ended_ = false;
  std::jthread thread_;  // last: uses the others
};

StepProbe::StepProbe(const StepProbeOptions& options) : state_(std::make_unique<State>(options)) {}
StepProbe::~StepProbe() = default;
void StepProbe::look(double seconds, std::span<const ProcessUse> processes, const std::function<bool()>& is_allowed) {
  state_->look(seconds, processes, is_allowed);
}
void StepProbe::finish() { state_->finish(); }
StepUse StepProbe::steps() const { return state_->steps(); }
double StepProbe::cpu_s() const { return state_->cpu_s(); }

}  // namespace unstarve
