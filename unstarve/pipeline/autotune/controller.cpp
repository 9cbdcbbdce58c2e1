#include "unstarve/pipeline/autotune/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace unstarve::autotune {
namespace {

constexpr double kMaxPeriodS = 1.5;
constexpr double kEarlyS = 2;  // increases apply immediately before
constexpr std::int64_t kMinBatches = 4;
// Settings increase only if the consumer's step becomes shorter by this factor.
constexpr double kMinStepGain = 1.02;
// A trial requires samples that sleep, a long enough window before it, and a waiting consumer; it succeeds with this
// part of the predicted gain.
constexpr double kTrialMinSleep = 0.1;
constexpr double kTrialMinWindowS = 0.4;
constexpr double kTrialMinWait = 0.05;
constexpr double kTrialMinPart = 0.25;
constexpr double kHoldS = 30;

std::int64_t samples_of(const Profile& window) {
  std::int64_t samples = 0;
  for (const StageProfile& stage : window.stages)
    if (stage.name != "wait" && stage.name != "read_ahead") samples = std::max(samples, stage.samples);
  return samples;
}

}  // namespace

Controller::Controller(Settings start, Limits limits) : settings_(start), limits_(limits) {
  log_.push_back({0, start.threads, start.prefetch, start.read_ahead,
                  limits.threads > 0
                      ? std::string("initial settings: fixed threads and prefetch")
                      : fmt::format("initial settings: one thread for each of {:g} cores", limits.cores)});
}

Controller::Direction Controller::direction(const Load& load, const Choice& choice) const {
  if (settings_.read_ahead > 0 && choice.settings.read_ahead == 0) return Direction::kStopReadAhead;
  const Choice present = judge(load, settings_, limits_);
  const auto step = [&](const Choice& c) { return load.consumer_s + consumer_wait(load, c.rate, c.settings.prefetch); };
  if (step(present) > kMinStepGain * step(choice)) return Direction::kUp;
  const Settings& chosen = choice.settings;
  const bool threads = settings_.threads - chosen.threads > settings_.threads / 8;
  const bool batches = settings_.prefetch > 2 * chosen.prefetch;
  const bool reads = settings_.read_ahead > 2 * chosen.read_ahead;
  return threads || batches || reads ? Direction::kDown : Direction::kStay;
}

bool Controller::failed(double rate, double wait_share) {
  // The first window after a change mixes both settings.
  if (trial_.threads_before == 0 || ++trial_.windows < 2) return false;
  const Trial trial = std::exchange(trial_, {});
  return wait_share > kTrialMinWait && rate < trial.rate_before * (1 + kTrialMinPart * (trial.predicted - 1));
}

void Controller::apply(const Settings& settings, double now_s, std::string reason) {
  const bool stops = settings_.read_ahead > 0 && settings.read_ahead == 0;
  const bool starts = settings_.read_ahead == 0 && settings.read_ahead > 0;
  if (starts && stopped_read_ahead_) keep_read_ahead_until_s_ = now_s + kHoldS;
  stopped_read_ahead_ = stopped_read_ahead_ || stops;
  settings_ = settings;
  pending_ = Direction::kStay;
  if (log_.size() > kLogged) log_.erase(log_.begin() + 1);
  log_.push_back({now_s, settings.threads, settings.prefetch, settings.read_ahead, std::move(reason)});
}

Profile Controller::with_consumer(const Profile& window) {
  Profile known = window;
  ConsumerProfile& now = known.consumer;
  if (now.batches < kMinBatches) {
    now.batches += consumer_.batches;
    now.busy_ns += consumer_.busy_ns;
    now.squares_us2 += consumer_.squares_us2;
  }
  consumer_ = now;
  return known;
}

void Controller::limit_threads(int limit, double now_s, std::string reason) {
  limits_.max_threads = limit;
  trial_ = {};
  Settings settings = settings_;
  settings.threads = std::min(settings.threads, limit);
  apply(settings, now_s, std::move(reason));
}

void Controller::disable_read_ahead(double now_s, std::string reason) {
  limits_.max_read_ahead = 0;
  Settings settings = settings_;
  settings.read_ahead = 0;
  apply(settings, now_s, std::move(reason));
}

Settings Controller::consider(const Profile& window, double now_s) {
  const double window_s = static_cast<double>(window.wall_ns) * 1e-9;
  const std::int64_t samples = samples_of(window);
  if (samples <= 0 || window_s <= 0) return settings_;
  period_s_ = std::min(2 * period_s_, kMaxPeriodS);

  const double rate = static_cast<double>(samples) / window_s;
  const double wait_ns = static_cast<double>(window.consumer.wait_ns);
  const double busy_ns = static_cast<double>(window.consumer.busy_ns);
  const double wait_share = wait_ns + busy_ns > 0 ? wait_ns / (wait_ns + busy_ns) : 0;
  const int before = trial_.threads_before;
  if (failed(rate, wait_share)) {
    Settings back = settings_;
    ceiling_ = back.threads = before;
    ceiling_until_s_ = now_s + kHoldS;
    apply(back, now_s,
          fmt::format("{} threads delivered {:.4g} samples/s, about as many as {}: the storage is saturated",
                      log_.back().threads, rate, before));
    return settings_;
  }
  if (now_s >= ceiling_until_s_) ceiling_ = 0;
  Limits limits = limits_;
  if (ceiling_ > 0) limits.max_threads = std::min(limits.max_threads, ceiling_);
  if (now_s < keep_read_ahead_until_s_) limits.may_stop_read_ahead = false;

  const Profile known = with_consumer(window);
  Choice choice = choose(known, limits);
  Load load = load_of(known);
  if (window.loader_threads > limits_.cores) load.delay_s = 0;
  const Direction chosen = direction(load, choice);
  const bool over_budget = limits_.byte_budget > 0 && judge(load, settings_, limits_).bytes > limits_.byte_budget;
  if (chosen == Direction::kStay && !over_budget) {
    pending_ = Direction::kStay;
    return settings_;
  }
  const bool at_once = over_budget || (now_s <= kEarlyS && chosen == Direction::kUp);
  if (pending_ != chosen && !at_once) {
    pending_ = chosen;
    return settings_;
  }
  if (choice.settings == settings_) return settings_;
  trial_ = {};
  if (choice.settings.threads > settings_.threads && load.sleeping_share() > kTrialMinSleep &&
      window_s >= kTrialMinWindowS && wait_share > kTrialMinWait)
    trial_ = {settings_.threads, rate, choice.rate / judge(load, settings_, limits_).rate, 0};
  apply(choice.settings, now_s, std::move(choice.reason));
  return settings_;
}

}  // namespace unstarve::autotune
