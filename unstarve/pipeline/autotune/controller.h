#pragma once
// Runs the autotuner while a loader runs: decides when settings change, and logs the changes.
//
//   each time window ── Profile ──▶ consider() ──▶ new settings, and a log entry if they change
//
// Windows double from 0.05 s to 1.5 s. Two consecutive windows must request the same direction; only during the first
// two seconds increases apply immediately. The consumer is measured over at least four batches.
//
// The model does not know the total throughput of a disk or server. If threads were added and the rate rose by less
// than a quarter of the prediction, the change is reverted, and the old number of threads is the maximum for 30
// seconds. Readers that were stopped and had to be restarted run for at least 30 seconds.
//
// Threads: one caller at a time. Failure: none; a window without samples changes nothing.

#include <string>
#include <vector>

#include "unstarve/core/profile.h"
#include "unstarve/pipeline/autotune/choose.h"

namespace unstarve::autotune {

class Controller {
 public:
  Controller(Settings start, Limits limits);

  // Returns new settings. `window`: measured since the last call; `now_s`: time since the start of the run.
  Settings consider(const Profile& window, double now_s);

  // Limits threads to `limit`, because no more can be started.
  void limit_threads(int limit, double now_s, std::string reason);

  // Disables read-ahead, because it cannot be started.
  void disable_read_ahead(double now_s, std::string reason);

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const Limits& limits() const { return limits_; }
  // Length of the next window.
  [[nodiscard]] double period_s() const { return period_s_; }
  // The initial settings, then the latest kLogged changes.
  [[nodiscard]] const std::vector<TuningStep>& log() const { return log_; }

  static constexpr std::size_t kLogged = 32;

 private:
  enum class Direction { kStay, kUp, kDown, kStopReadAhead };
  // A trial of more threads: checks the predicted rate.
  struct Trial {
    int threads_before = 0;  // 0: none
    double rate_before = 0;
    double predicted = 1;  // predicted factor of rate_before
    int windows = 0;       // since the change
  };
  [[nodiscard]] Direction direction(const Load& load, const Choice& choice) const;
  [[nodiscard]] bool failed(double rate, double wait_share);
  void apply(const Settings& settings, double now_s, std::string reason);

  // The window with a consumer profile over enough batches.
  [[nodiscard]] Profile with_consumer(const Profile& window);

  Settings settings_;
  Limits limits_;
  ConsumerProfile consumer_;  // of the last windows
  double period_s_ = 0.05;
  Direction pending_ = Direction::kStay;
  Trial trial_;
  int ceiling_ = 0;  // maximum number of threads; 0: none
  double ceiling_until_s_ = 0;
  bool stopped_read_ahead_ = false;  // at least once
  double keep_read_ahead_until_s_ = 0;
  std::vector<TuningStep> log_;
};

}  // namespace unstarve::autotune
