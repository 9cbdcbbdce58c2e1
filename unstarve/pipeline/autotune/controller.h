#pragma once
// The autotuner while a loader runs: when it looks, what it changes, and what it remembers of it.
//
//   every window of the run ── Profile ──▶ consider() ──▶ settings from now on, and a line of the log when they change
//
// Windows begin short and double (0.05 s, 0.1 s, ... 1.5 s), so that a cold start is soon over and a steady run is
// hardly looked at. Two windows in a row must ask for the same direction, so that one odd window (a stopped process, a
// burst of cached files) moves nothing; only in the first two seconds more is given at once. Settings that the model
// calls good enough stay. The consumer's time is taken over at least four of its batches.
//
// The model does not know what a disk or a server can give in all: its sleeps only grow when more threads ask. Where
// more threads were given and the rate did not rise by a quarter of what was promised, they are taken back, and the old
// number is the ceiling for half a minute. Readers that were ended and had to be begun again stay as long at least.
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

  // What was measured since the last call, `now_s` after the run's start.
  Settings consider(const Profile& window, double now_s);

  // No more threads than so many can be had; they are what there is now.
  void hold_threads(int most, double now_s, std::string reason);

  // Nothing can be read ahead.
  void hold_read_ahead(double now_s, std::string reason);

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const Limits& limits() const { return limits_; }
  // How long the next window should be.
  [[nodiscard]] double period_s() const { return period_s_; }
  // The first entry is the start, then the latest kLogged changes.
  [[nodiscard]] const std::vector<TuningStep>& log() const { return log_; }

  static constexpr std::size_t kLogged = 32;

 private:
  enum class Direction { kStay, kUp, kDown, kEndAhead };
  // More threads on trial: whether they give what the model promised.
  struct Trial {
    int threads_before = 0;  // 0: none
    double rate_before = 0;
    double promised = 1;  // times that
    int windows = 0;      // since the change
  };
  [[nodiscard]] Direction direction(const Load& load, const Choice& choice) const;
  [[nodiscard]] bool failed(double rate, double wait_share);
  void take(const Settings& settings, double now_s, std::string reason);

  // The window, with a consumer known by enough batches.
  [[nodiscard]] Profile with_consumer(const Profile& window);

  Settings settings_;
  Limits limits_;
  ConsumerProfile consumer_;  // over as many windows as it takes
  double period_s_ = 0.05;
  Direction pending_ = Direction::kStay;
  Trial trial_;
  int ceiling_ = 0;  // of threads; 0: none
  double ceiling_until_s_ = 0;
  bool ended_ahead_ = false;  // reading ahead was ended once
  double ahead_until_s_ = 0;  // and is not before then
  std::vector<TuningStep> log_;
};

}  // namespace unstarve::autotune
