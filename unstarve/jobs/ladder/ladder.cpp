#include "unstarve/jobs/ladder/ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/jobs/ladder/ladder_time.h"
#include "unstarve/jobs/ladder/prediction.h"
#include "unstarve/jobs/ladder/rig.h"
#include "unstarve/jobs/ladder/subject.h"
#include "unstarve/jobs/ladder/time_to_accuracy.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {
namespace {

constexpr int kBaseBatch = 32;
// Intended number of pairs; kMinPairs is the minimum.
constexpr int kPairs = 10;
// Shares of the time of a step for scanning candidates and comparing losses; the rest is for the pairs.
constexpr double kScanShare = 0.25, kLossShare = 0.12;
// The comparisons at the end run this many pairs in any case.
constexpr int kFewestPairs = 2;
// Batches of which the losses are compared, at least.
constexpr int kLossBatches = 4;
// If the loss after equal samples grows by this factor, learning is broken.
constexpr double kBrokenLoss = 1.5;

// The mean of rates whose quotient is the ratio that ratio_interval() returns.
double geometric_mean(const std::vector<double>& rates) {
  double logs = 0;
  for (const double rate : rates) logs += std::log(rate);
  return rates.empty() ? 0 : std::exp(logs / static_cast<double>(rates.size()));
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

struct Comparison {
  std::vector<double> a, b;  // samples/s of the blocks of each pair
  double step_ms = 0;        // mean of b
  double step_ms_a = 0;
  MeasuredStep b_step;
  [[nodiscard]] RatioInterval interval() const { return ratio_interval(b, a); }
  [[nodiscard]] double rate() const { return geometric_mean(b); }
};

MeasuredStep measured_step(const Block& block) {
  const double steps = static_cast<double>(std::max<std::int64_t>(block.steps, 1));
  return {1e-9 * static_cast<double>(block.wall_ns) / steps, 1e-9 * static_cast<double>(block.wait_ns) / steps};
}

// Mean loss over the second half of the first `samples` samples, starting from fresh weights.
double early_loss(const Settings& settings, const std::shared_ptr<const Dataset>& dataset, const Target& target,
                  std::int64_t samples) {
  Rig rig(settings, dataset, target);
  const std::int64_t steps = std::max<std::int64_t>(2, samples / settings.pipeline.batch.size);
  double sum = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    rig.step();
    if (step >= steps / 2) sum += rig.loss();
  }
  return sum / static_cast<double>(steps - steps / 2);
}

class LadderRun {
 public:
  LadderRun(const LadderOptions& options, std::shared_ptr<const Dataset> dataset, const Progress& progress)
      : options_(options), dataset_(std::move(dataset)), progress_(progress), start_(seconds_now()) {}

  LadderResult run(std::span<const LadderStep> steps) {
    context_.target = options_.target;
    context_.machine = read_machine_facts();
    context_.encoded = dataset_->field_index(FieldKind::kEncodedImage) >= 0;
    context_.samples = dataset_->size();
    context_.host = read_host_facts();
    context_.starts_processes = !options_.program.empty();
    context_.tried = options_.tried;
    // Steps that are tried on request are the last ones.
    const auto by_accuracy = [](const LadderStep& step) { return !step.tried_by.empty(); };
    const auto first_tried = std::ranges::find_if(steps, by_accuracy);
    const std::span<const LadderStep> tried(first_tried, steps.end());
    steps = steps.first(steps.size() - tried.size());

    report("base");
    base_ = base_of(options_.defaults, options_.target);
    tuned_ = options_.defaults;
    current_ = build(base_, false);
    base_time_ = time_of(*current_);
    const double weight = static_cast<double>(steps.size()) + kFinalWeight;
    enter_base(std::min(2.0, options_.seconds / weight / 4));

    // Divide the time among the steps that apply. This can change when a step is kept, so it is recomputed.
    for (std::size_t i = 0; i < steps.size(); ++i) {
      int left = 0;
      for (std::size_t j = i; j < steps.size(); ++j)
        left += steps[j].not_applicable(context_, current_->settings()).empty();
      try_step(steps[i], left);
    }
    recorded("tuned settings compared with defaults", [&] { choose_winner(); });
    for (const LadderStep& step : tried) try_by_accuracy(step);
    recorded("winner compared with base", [&] { compare_with_base(); });
    return std::move(result_);
  }

 private:
  // Host settings other than the defaults belong to a process of its own.
  std::unique_ptr<Subject> build(const Settings& settings, bool in_process) {
    const double begin = elapsed();
    std::unique_ptr<Subject> subject =
        in_process ? measure_in_process(settings, options_.target, options_.program, context_.host)
                   : measure_here(settings, dataset_, options_.target);
    build_s_ = std::max(build_s_, elapsed() - begin);
    return subject;
  }
  [[nodiscard]] SideTime time_of(const Subject& side) const {
    return {side.first().step_s, side.settings().pipeline.execution.prefetch, build_s_};
  }
  [[nodiscard]] static bool needs_process(const Settings& settings) { return settings.host != HostSettings(); }

  [[nodiscard]] double elapsed() const { return seconds_now() - start_; }
  [[nodiscard]] double counted() const { return elapsed() - not_counted_; }
  [[nodiscard]] double seconds_left() const { return std::max(0.0, options_.seconds - counted()); }
  void report(std::string_view what) {
    if (progress_) progress_(what, std::clamp(counted() / options_.seconds, 0.0, 1.0));
  }

  // Runs pairs of blocks for `budget` seconds, at least `least` pairs.
  Comparison compare(Subject& a, Subject& b, double budget, int least, const std::array<const char*, 2>& names) {
    const double each = budget / kPairs / 2;
    const double block =
        std::max(kShortestBlock, each - std::max(untimed_time(time_of(a), each), untimed_time(time_of(b), each)));
    const double end = seconds_now() + budget;
    Comparison comparison;
    Block all_a, all_b;
    const auto run = [&](Subject& side, std::vector<double>& rates, Block& all, const char* name) {
      const double begin = elapsed();
      const Block result = side.run(block, 1);
      rates.push_back(result.samples_per_s());
      result_.spans.push_back({name, begin, elapsed() - begin, {{"samples_per_s", rates.back()}}});
      all.wall_ns += result.wall_ns;
      all.steps += result.steps;
      all.wait_ns += result.wait_ns;
    };
    const auto run_a = [&] { run(a, comparison.a, all_a, names[0]); };
    const auto run_b = [&] { run(b, comparison.b, all_b, names[1]); };
    for (int pair = 0; pair < least || (pair < kPairs && seconds_now() < end); ++pair) {
      if (pair % 2 == 0) {
        run_a();
        run_b();
      } else {
        run_b();
        run_a();
      }
    }
    comparison.step_ms = all_b.step_ms();
    comparison.step_ms_a = all_a.step_ms();
    comparison.b_step = measured_step(all_b);
    return comparison;
  }

  // Calls `work` as a span of the recording.
  template <class Work>
  void recorded(std::string_view name, const Work& work) {
    const std::size_t index = result_.spans.size();
    result_.spans.push_back({std::string(name), elapsed()});
    const auto end = [&] { result_.spans[index].seconds = elapsed() - result_.spans[index].begin_s; };
    try {
      work();
    } catch (...) {
      end();
      throw;
    }
    end();
  }

  // The time for a step, with losses to compare if it affects learning. `build_s`: for what is not built yet. If it
  // does not fit, the entry is undecided.
  std::optional<double> plan(const LadderStep& step, int left, const SideTime& other, double build_s,
                             LedgerEntry& entry) const {
    const SideTime current = time_of(*current_);
    const double batches = step.affects_learning ? kLossBatches * std::max(current.step_s, other.step_s) : 0;
    const double needed = build_s + pairs_time(current, other, kMinPairs, kShortestBlock) +
                          (step.affects_learning ? 2 * (build_s_ + batches) : 0);
    const double at_end = final_time(base_time_, current, true);
    const std::optional<double> budget = plan_step(seconds_left(), left, needed, at_end);
    if (!budget) {
      entry.verdict = Verdict::kUndecided;
      entry.reason = fmt::format("{} pairs take about {:.0f} s, but only {:.0f} s are left; increase --minutes",
                                 kMinPairs, needed, std::max(0.0, seconds_left() - at_end));
    }
    return budget;
  }

  void enter_base(double seconds) {
    Block block;
    recorded("base", [&] { block = current_->run(seconds, 2); });
    LedgerEntry entry;
    entry.name = "base";
    entry.verdict = Verdict::kBase;
    entry.batch = base_.pipeline.batch.size;
    entry.memory_bytes = current_->first().memory_bytes;
    entry.step_ms = block.step_ms();
    entry.samples_per_s = block.samples_per_s();
    current_step_ = measured_step(block);
    result_.ledger.entries.push_back(entry);
  }

  // Tries one step; `left` steps that apply, this one included, share the time that is left.
  void try_step(const LadderStep& step, int left) {
    const Settings before = current_->settings();
    enter(step, before, [&](LedgerEntry& entry) { measure(step, left, before, entry); });
  }

  // Adds the entry of a step, which `measured` completes if the step applies.
  template <class Measure>
  void enter(const LadderStep& step, const Settings& before, Measure&& measured) {
    LedgerEntry entry;
    entry.name = step.name;
    entry.affects_learning = step.affects_learning;
    entry.approximate = step.approximate;
    entry.batch = before.pipeline.batch.size;
    entry.reason = step.not_applicable(context_, before);
    if (!entry.reason.empty()) {
      entry.verdict = Verdict::kNotApplicable;
    } else {
      report(step.name);
      try {
        recorded(step.name, [&] { measured(entry); });
      } catch (const Error& error) {
        // Out of memory, for example: the step is unsuitable for this machine; the ladder continues from the current
        // settings.
        entry.verdict = Verdict::kReverted;
        entry.reason = error.what();
      }
    }
    result_.ledger.entries.push_back(std::move(entry));
  }

  // Tries a step that changes what is learned, on top of the winner. The time of the runs is not counted.
  void try_by_accuracy(const LadderStep& step) {
    const double begin = elapsed();
    const Settings before = result_.winner;
    enter(step, before, [&](LedgerEntry& entry) {
      const Candidate candidate = step.candidates(context_, before).front();
      entry.change = candidate.change;
      entry.by_accuracy = true;
      compare_runs(before, candidate.settings, entry);
      if (entry.verdict != Verdict::kKept) return;
      step.copy(candidate.settings, result_.winner);
      result_.tuned = true;
    });
    not_counted_ += elapsed() - begin;
  }

  // Pairs of whole runs; each pair has a seed of its own.
  void compare_runs(const Settings& before, const Settings& after, LedgerEntry& entry) {
    std::vector<double> before_s, after_s;
    double accuracy = 0, seconds = 0, samples = 0, steps = 0;
    const auto run = [&](Settings settings, std::uint64_t pair) {
      settings.train.seed += pair;
      settings.pipeline.order.seed += pair;
      return options_.train(settings);
    };
    for (std::uint64_t pair = 0; pair < kMinPairs; ++pair) {
      report(fmt::format("{}: runs {} and {} of {}", entry.name, 2 * pair + 1, 2 * pair + 2, 2 * kMinPairs));
      TrainHistory a, b;
      if (pair % 2 == 0) a = run(before, pair);
      b = run(after, pair);
      if (pair % 2 == 1) a = run(before, pair);
      const TimesToAccuracy times = times_to_accuracy(a.evaluations, b.evaluations);
      before_s.push_back(times.before_s);
      after_s.push_back(times.after_s);
      accuracy += times.accuracy / kMinPairs;
      seconds += b.evaluations.back().training_seconds;
      samples += static_cast<double>(b.samples);
      steps += static_cast<double>(b.steps);
    }
    entry.ratio = ratio_interval(before_s, after_s);
    entry.verdict = judge(entry.ratio);
    entry.samples_per_s = samples / seconds;
    entry.step_ms = 1e3 * seconds / steps;
    entry.reason = fmt::format("{:.1f} % accuracy after {:.3g} s of training, {:.3g} s without (means of {} runs)",
                               100 * accuracy, mean(after_s), mean(before_s), kMinPairs);
  }

  void measure(const LadderStep& step, int left, const Settings& before, LedgerEntry& entry) {
    const double begin = elapsed();
    const std::optional<double> budget = plan(step, left, time_of(*current_), build_s_, entry);
    if (!budget) return;
    const std::vector<Candidate> candidates = step.candidates(context_, before);
    // The two sides of a comparison differ in their settings only: both have processes of their own, or none.
    in_process_ = in_process_ || needs_process(candidates.front().settings);
    if (in_process_ && !current_in_process_) {
      current_ = build(before, true);
      current_in_process_ = true;
    }
    Candidate best;
    std::unique_ptr<Subject> other = fastest(candidates, *budget * kScanShare, best);
    entry.change = best.change;
    const std::optional<double> rest = plan(step, left, time_of(*other), 0, entry);
    if (!rest) return;
    entry.batch = best.settings.pipeline.batch.size;
    entry.memory_bytes = other->first().memory_bytes;
    entry.predicted = predict_candidate(current_->profile(), current_step_, context_, before, best.settings);

    const double loss_time = step.affects_learning ? *budget * kLossShare : 0;
    const Comparison comparison = compare(*current_, *other, std::min(*budget - (elapsed() - begin), *rest) - loss_time,
                                          kMinPairs, {"settings so far", "with the step"});
    entry.ratio = comparison.interval();
    entry.step_ms = comparison.step_ms;
    entry.samples_per_s = comparison.rate();
    entry.verdict = judge(entry.ratio);
    if (entry.verdict == Verdict::kKept && step.affects_learning)
      compare_losses(before, best.settings, entry, loss_time / 2);
    apply_measured(step, entry, before, best.settings, tuned_);
    if (entry.verdict != Verdict::kKept) return;
    current_ = std::move(other);
    current_step_ = comparison.b_step;
  }

  // Runs a short block of each candidate and returns the fastest.
  std::unique_ptr<Subject> fastest(const std::vector<Candidate>& candidates, double budget, Candidate& best) {
    if (candidates.size() == 1) {
      best = candidates[0];
      return build(best.settings, in_process_);
    }
    const double end = seconds_now() + budget;
    std::unique_ptr<Subject> winner;
    double winner_rate = 0;
    for (const Candidate& candidate : candidates) {
      if (winner && seconds_now() >= end) break;
      std::unique_ptr<Subject> measured = build(candidate.settings, in_process_);
      const double block = std::max(kShortestBlock, budget / static_cast<double>(candidates.size()) / 2);
      const double rate = measured->run(block, 2).samples_per_s();
      if (rate > winner_rate) {
        winner = std::move(measured);
        winner_rate = rate;
        best = candidate;
      }
    }
    return winner;
  }

  // Trains both from fresh weights on the same samples; reverts the step if the loss is broken.
  void compare_losses(const Settings& before, const Settings& after, LedgerEntry& entry, double seconds_each) {
    const std::int64_t least = kLossBatches * std::max(before.pipeline.batch.size, after.pipeline.batch.size);
    const auto affordable = static_cast<std::int64_t>(seconds_each * entry.samples_per_s / entry.ratio.ratio);
    const std::int64_t samples = std::max(least, affordable);
    entry.loss_before = early_loss(before, dataset_, options_.target, samples);
    entry.loss_after = early_loss(after, dataset_, options_.target, samples);
    if (!std::isfinite(entry.loss_after) || entry.loss_after > kBrokenLoss * entry.loss_before) {
      entry.verdict = Verdict::kReverted;
      entry.reason = fmt::format("the loss diverges: {:.3f} instead of {:.3f} after {} samples", entry.loss_after,
                                 entry.loss_before, samples);
    }
  }

  // Compares the winner with the base and profiles both.
  void compare_with_base() {
    report("winner compared with base");
    const bool in_process = needs_process(base_) || needs_process(result_.winner);
    const std::unique_ptr<Subject> base = build(base_, in_process), winner = build(result_.winner, in_process);
    base->record();
    winner->record();
    const Comparison comparison = compare(*base, *winner, seconds_left(), kFewestPairs, {"base", "winner"});
    result_.over_base = comparison.interval();
    result_.before = base->profile();
    result_.after = winner->profile();
    // The first and the last entry show this comparison, so that table, headline and profiles agree.
    LedgerEntry& first = result_.ledger.entries.front();
    first.samples_per_s = geometric_mean(comparison.a);
    first.step_ms = comparison.step_ms_a;
    LedgerEntry last;
    last.name = result_.tuned ? "kept steps on the defaults" : "defaults";
    last.verdict = Verdict::kFinal;
    last.batch = result_.winner.pipeline.batch.size;
    last.memory_bytes = winner->first().memory_bytes;
    last.samples_per_s = comparison.rate();
    last.step_ms = comparison.step_ms;
    last.ratio = result_.over_base;
    last.reason = "the settings to use, compared with the base";
    result_.ledger.entries.push_back(std::move(last));
  }

  // The tuned settings win only if they are proven to be faster than the defaults.
  void choose_winner() {
    result_.winner = options_.defaults;
    current_.reset();  // frees its memory before two others are built
    if (tuned_ == options_.defaults) return;
    report("tuned settings compared with defaults");
    const bool in_process = needs_process(options_.defaults) || needs_process(tuned_);
    const std::unique_ptr<Subject> defaults = build(options_.defaults, in_process), tuned = build(tuned_, in_process);
    result_.over_defaults =
        compare(*defaults, *tuned, seconds_left() / kFinalWeight, kFewestPairs, {"defaults", "tuned settings"})
            .interval();
    result_.tuned = judge(result_.over_defaults) == Verdict::kKept;
    if (result_.tuned) result_.winner = tuned_;
  }

  const LadderOptions& options_;
  std::shared_ptr<const Dataset> dataset_;
  const Progress& progress_;
  double start_;
  double not_counted_ = 0;  // the time of whole runs
  LadderContext context_;
  Settings base_;
  Settings tuned_;  // the defaults with what was measured: apply_measured()
  SideTime base_time_;
  double build_s_ = 0;  // the longest time that building a side took
  std::unique_ptr<Subject> current_;
  MeasuredStep current_step_;
  bool current_in_process_ = false;
  bool in_process_ = false;  // the following comparisons run in processes of their own
  LadderResult result_;
};

}  // namespace

Settings base_of(Settings defaults, const Target& target) {
  Settings base = std::move(defaults);
  if (!target.emulated()) {
    set_batch(base, kBaseBatch);
    base.train.precision = Precision::kFloat32;
    base.train.channels_last = false;
    base.train.fused_batch_norm = false;
    base.train.optimiser.form = UpdateForm::kEach;
    base.train.graph = GraphUse::kOff;
    base.train.operator_threads = 0;
    base.host = {};
    base.pipeline.output.type = ElementType::kFloat32;
    base.pipeline.output.layout = Layout::kNchw;
  }
  base.pipeline.execution.threads = 1;
  base.pipeline.execution.prefetch = 0;
  base.pipeline.execution.pinned = false;
  base.pipeline.passes["crop_into_decode"] = false;
  base.pipeline.passes.erase("scale_into_decode");
  return base;
}

void apply_measured(const LadderStep& step, const LedgerEntry& entry, const Settings& before, const Settings& after,
                    Settings& tuned) {
  if (entry.verdict == Verdict::kKept) step.copy(after, tuned);
  const bool slower = entry.ratio.pairs >= kMinPairs && entry.ratio.high < 1;
  if (entry.verdict == Verdict::kReverted && slower) step.copy(before, tuned);
}

LadderResult run_ladder(const LadderOptions& options, std::shared_ptr<const Dataset> dataset,
                        std::span<const LadderStep> steps, const Progress& progress) {
  return LadderRun(options, std::move(dataset), progress).run(steps);
}

}  // namespace unstarve
