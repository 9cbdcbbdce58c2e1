#include "unstarve/jobs/ladder/ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/jobs/ladder/rig.h"
#include "unstarve/jobs/probe/memory_probe.h"
#include "unstarve/pipeline/executor/loader.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {
namespace {

constexpr int kBaseBatch = 32;
// Intended number of pairs; kMinPairs is the minimum.
constexpr int kPairs = 10;
// Shares of the time of a step for scanning candidates and comparing losses; the rest is for the pairs.
constexpr double kScanShare = 0.25, kLossShare = 0.12;
// The final comparisons, of the tuned settings with the defaults and of the winner with the base, take the time of this
// many steps.
constexpr int kFinalWeight = 2;
// Seconds. Shorter blocks measure the scheduler of the OS rather than the settings.
constexpr double kShortestBlock = 0.1;
// If the loss after equal samples grows by this factor, learning is broken.
constexpr double kBrokenLoss = 1.5;

// A rig and its first measurements.
struct Measured {
  std::unique_ptr<Rig> rig;
  std::size_t memory_bytes = 0;
  double step_s = 0;  // estimate
};

Measured build(const Settings& settings, const std::shared_ptr<const Dataset>& dataset, const Target& target) {
  const MemoryProbe probe;
  Measured measured;
  measured.rig = std::make_unique<Rig>(settings, dataset, target);
  measured.rig->run(0, 1);  // warm-up: allocations, primitive caches, page faults
  const Block block = measured.rig->run(kShortestBlock, 1);
  measured.step_s = static_cast<double>(block.wall_ns) / 1e9 / static_cast<double>(block.steps);
  if (target.cuda())
    measured.memory_bytes = measured.rig->trainer()->peak_memory_bytes();
  else if (probe.exact())  // else unknown: the lifetime peak of the process would be misleading
    measured.memory_bytes = probe.peak_growth_bytes();
  return measured;
}

// The mean of rates whose quotient is the ratio that ratio_interval() returns.
double geometric_mean(const std::vector<double>& rates) {
  double logs = 0;
  for (const double rate : rates) logs += std::log(rate);
  return rates.empty() ? 0 : std::exp(logs / static_cast<double>(rates.size()));
}

struct Comparison {
  std::vector<double> a, b;  // samples/s of the blocks of each pair
  double step_ms = 0;        // mean of b
  double step_ms_a = 0;
  [[nodiscard]] RatioInterval interval() const { return ratio_interval(b, a); }
  [[nodiscard]] double rate() const { return geometric_mean(b); }
};

// Time of a block of `seconds` without its untimed steps, which consume the prefetched batches (Rig::run).
double untimed_cost(const Measured& side, double seconds) {
  const double prefetched = side.step_s * (side.rig->settings().pipeline.execution.prefetch + 1);
  return std::clamp(prefetched, side.step_s, side.step_s + seconds);
}
double block_cost(const Measured& side, double seconds) {
  return std::max(seconds, side.step_s) + untimed_cost(side, seconds);
}

// Runs pairs of blocks for `budget` seconds, at least kMinPairs pairs.
Comparison compare(Measured& a, Measured& b, double budget, std::vector<StepParts>* parts_a = nullptr,
                   std::vector<StepParts>* parts_b = nullptr) {
  const double each = budget / kPairs / 2;
  const double block = std::max(kShortestBlock, each - std::max(untimed_cost(a, each), untimed_cost(b, each)));
  const double end = seconds_now() + budget;
  Comparison comparison;
  Block all_a, all_b;
  const auto run = [&](Measured& side, std::vector<StepParts>* parts, std::vector<double>& rates, Block& all) {
    const Block result = side.rig->run(block, 1, parts);
    rates.push_back(result.samples_per_s());
    all.wall_ns += result.wall_ns;
    all.steps += result.steps;
  };
  const auto run_a = [&] { run(a, parts_a, comparison.a, all_a); };
  const auto run_b = [&] { run(b, parts_b, comparison.b, all_b); };
  for (int pair = 0; pair < kMinPairs || (pair < kPairs && seconds_now() < end); ++pair) {
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
  return comparison;
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

    report("base");
    base_ = base_of(options_.defaults, options_.target);
    tuned_ = options_.defaults;
    current_ = build(base_, dataset_, options_.target);
    const double weight = static_cast<double>(steps.size()) + kFinalWeight;
    enter_base(std::min(2.0, options_.seconds / weight / 4));

    // Divide the time among the steps that apply. This can change when a step is kept, so it is recomputed.
    for (std::size_t i = 0; i < steps.size(); ++i) {
      int left = kFinalWeight;
      for (std::size_t j = i; j < steps.size(); ++j)
        left += steps[j].not_applicable(context_, current_.rig->settings()).empty();
      try_step(steps[i], (options_.seconds - elapsed()) / left);
    }
    finish();
    return std::move(result_);
  }

 private:
  [[nodiscard]] double elapsed() const { return seconds_now() - start_; }
  [[nodiscard]] double seconds_left() const { return std::max(0.0, options_.seconds - elapsed()); }
  void report(std::string_view what) {
    if (progress_) progress_(what, std::clamp(elapsed() / options_.seconds, 0.0, 1.0));
  }

  void enter_base(double seconds) {
    const Block block = current_.rig->run(seconds, 2);
    LedgerEntry entry;
    entry.name = "base";
    entry.verdict = Verdict::kBase;
    entry.batch = base_.pipeline.batch.size;
    entry.memory_bytes = current_.memory_bytes;
    entry.step_ms = block.step_ms();
    entry.samples_per_s = block.samples_per_s();
    result_.ledger.entries.push_back(entry);
  }

  // Tries one step within about `budget` seconds.
  void try_step(const LadderStep& step, double budget) {
    const Settings before = current_.rig->settings();
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
        measure(step, budget, before, entry);
      } catch (const Error& error) {
        // Out of memory, for example: the step is unsuitable for this machine; the ladder continues from the current
        // settings.
        entry.verdict = Verdict::kReverted;
        entry.reason = error.what();
      }
    }
    result_.ledger.entries.push_back(std::move(entry));
  }

  void measure(const LadderStep& step, double budget, const Settings& before, LedgerEntry& entry) {
    const double begin = seconds_now();
    const double needed = 2 * kMinPairs * block_cost(current_, kShortestBlock);
    const double left = options_.seconds - elapsed() - kFinalWeight * needed;  // the final comparisons come after
    if (needed > left) {
      entry.verdict = Verdict::kUndecided;
      entry.reason = fmt::format("{} pairs take about {:.0f} s, but only {:.0f} s are left; increase --minutes",
                                 kMinPairs, needed, std::max(0.0, left));
      return;
    }
    Candidate best;
    Measured other = fastest(step.candidates(context_, before), budget * kScanShare, best);
    entry.change = best.change;
    entry.batch = best.settings.pipeline.batch.size;
    entry.memory_bytes = other.memory_bytes;

    const double loss_time = step.affects_learning ? budget * kLossShare : 0;
    const Comparison comparison = compare(current_, other, budget - (seconds_now() - begin) - loss_time);
    entry.ratio = comparison.interval();
    entry.step_ms = comparison.step_ms;
    entry.samples_per_s = comparison.rate();
    entry.verdict = judge(entry.ratio);
    if (entry.verdict == Verdict::kKept && step.affects_learning)
      compare_losses(before, best.settings, entry, loss_time / 2);
    if (entry.verdict == Verdict::kKept) {
      current_ = std::move(other);
      step.copy(best.settings, tuned_);
    }
  }

  // Runs a short block of each candidate and returns the fastest.
  Measured fastest(const std::vector<Candidate>& candidates, double budget, Candidate& best) {
    if (candidates.size() == 1) {
      best = candidates[0];
      return build(best.settings, dataset_, options_.target);
    }
    const double end = seconds_now() + budget;
    Measured winner;
    double winner_rate = 0;
    for (const Candidate& candidate : candidates) {
      if (winner.rig && seconds_now() >= end) break;
      Measured measured = build(candidate.settings, dataset_, options_.target);
      const double block = std::max(kShortestBlock, budget / static_cast<double>(candidates.size()) / 2);
      const double rate = measured.rig->run(block, 2).samples_per_s();
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
    const std::int64_t least = 4 * std::max(before.pipeline.batch.size, after.pipeline.batch.size);
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

  // Chooses between the tuned settings and the defaults, compares the winner with the base and profiles both.
  void finish() {
    choose_winner();
    report("winner compared with base");
    Measured base = build(base_, dataset_, options_.target);
    Measured winner = build(result_.winner, dataset_, options_.target);
    if (base.rig->trainer()) base.rig->trainer()->enable_timing(true);
    if (winner.rig->trainer()) winner.rig->trainer()->enable_timing(true);
    std::vector<StepParts> base_steps, winner_steps;
    const Comparison comparison = compare(base, winner, seconds_left(), &base_steps, &winner_steps);
    result_.over_base = comparison.interval();
    result_.before = profile_of(*base.rig, base_steps);
    result_.after = profile_of(*winner.rig, winner_steps);
    // The first and the last entry show this comparison, so that table, headline and profiles agree.
    LedgerEntry& first = result_.ledger.entries.front();
    first.samples_per_s = geometric_mean(comparison.a);
    first.step_ms = comparison.step_ms_a;
    LedgerEntry last;
    last.name = result_.tuned ? "kept steps on the defaults" : "defaults";
    last.verdict = Verdict::kFinal;
    last.batch = result_.winner.pipeline.batch.size;
    last.memory_bytes = winner.memory_bytes;
    last.samples_per_s = comparison.rate();
    last.step_ms = comparison.step_ms;
    last.ratio = result_.over_base;
    last.reason = "the settings to use, compared with the base";
    result_.ledger.entries.push_back(std::move(last));
  }

  // The tuned settings win only if they are proven to be faster than the defaults.
  void choose_winner() {
    result_.winner = options_.defaults;
    current_ = {};  // frees its memory before two other rigs are built
    if (tuned_ == options_.defaults) return;
    report("tuned settings compared with defaults");
    Measured defaults = build(options_.defaults, dataset_, options_.target);
    Measured tuned = build(tuned_, dataset_, options_.target);
    result_.over_defaults = compare(defaults, tuned, seconds_left() / kFinalWeight).interval();
    result_.tuned = judge(result_.over_defaults) == Verdict::kKept;
    if (result_.tuned) result_.winner = tuned_;
  }

  [[nodiscard]] static Profile profile_of(Rig& rig, const std::vector<StepParts>& steps) {
    Profile profile = rig.loader().profile();
    profile.wall_ns = 0;
    for (const StepParts& step : steps) profile.wall_ns += step.total_ns();
    profile.batches = static_cast<std::int64_t>(steps.size());
    profile.samples = profile.batches * rig.settings().pipeline.batch.size;
    profile.step = summarise(steps);
    profile.utilisation = utilisation_over_time(steps, rig.nominal_step_ns());
    return profile;
  }

  const LadderOptions& options_;
  std::shared_ptr<const Dataset> dataset_;
  const Progress& progress_;
  double start_;
  LadderContext context_;
  Settings base_;
  Settings tuned_;  // the defaults with what the kept steps changed
  Measured current_;
  LadderResult result_;
};

}  // namespace

Settings base_of(Settings defaults, const Target& target) {
  Settings base = std::move(defaults);
  if (!target.emulated()) {
    set_batch(base, kBaseBatch);
    base.train.precision = Precision::kFloat32;
    base.train.channels_last = false;
    base.train.optimiser.form = UpdateForm::kEach;
    base.train.operator_threads = 0;
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

LadderResult run_ladder(const LadderOptions& options, std::shared_ptr<const Dataset> dataset,
                        std::span<const LadderStep> steps, const Progress& progress) {
  return LadderRun(options, std::move(dataset), progress).run(steps);
}

}  // namespace unstarve
