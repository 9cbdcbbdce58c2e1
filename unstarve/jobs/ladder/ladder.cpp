#include "unstarve/jobs/ladder/ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "unstarve/core/clock.h"
#include "unstarve/core/error.h"
#include "unstarve/jobs/ladder/block_comparison.h"
#include "unstarve/jobs/ladder/ladder_recorder.h"
#include "unstarve/jobs/ladder/ladder_time.h"
#include "unstarve/jobs/ladder/prediction.h"
#include "unstarve/jobs/ladder/rig.h"
#include "unstarve/jobs/ladder/run_comparison.h"
#include "unstarve/jobs/ladder/subject.h"
#include "unstarve/jobs/ladder/subject_builder.h"
#include "unstarve/pipeline/executor/plan_run.h"
#include "unstarve/storage/dataset/dataset.h"
#include "unstarve/storage/dataset/notice.h"

namespace unstarve {
namespace {

constexpr int kBaseBatch = 32;
// Steps of the block of the base: one untimed and two timed ones.
constexpr int kBaseSteps = 3;
// Shares of the time of a step for scanning candidates and comparing losses; the rest is for the pairs.
constexpr double kScanShare = 0.25, kLossShare = 0.12;
// Samples per step of the network whose speed decides on the batch.
constexpr int kProbeBatch = 8;
// A notice announces a duration that exceeds the requested one by this share and these seconds.
constexpr double kLongerShare = 0.1, kLongerSeconds = 5;
// Batches of which the losses are compared, at least.
constexpr int kLossBatches = 4;
// If the loss after equal samples grows by this factor, learning is broken.
constexpr double kBrokenLoss = 1.5;

DataFacts facts_of(PipelineSpec spec, std::shared_ptr<const Dataset> dataset) {
  spec.cache = {};
  RunOptions run;
  run.usable_cores = read_topology().usable();
  return plan_run(std::move(spec), std::move(dataset), run).plan.facts;
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

// What the next step is compared with.
struct CurrentSettings {
  std::unique_ptr<Subject> subject;
  MeasuredStep step;
  bool in_process = false;
};

class LadderRun {
 public:
  LadderRun(const LadderOptions& options, std::shared_ptr<const Dataset> dataset, const Progress& progress)
      : options_(options),
        recorder_(options.seconds, progress),
        subjects_(std::move(dataset), options.target, options.program) {}

  LadderResult run(std::span<const LadderStep> steps) {
    context_.target = options_.target;
    context_.machine = read_machine_facts();
    context_.data = facts_of(options_.defaults.pipeline, subjects_.dataset());
    context_.samples = subjects_.dataset()->size();
    context_.host = subjects_.facts();
    context_.starts_processes = !options_.program.empty();
    context_.tried = options_.tried;
    // Steps that are tried on request are the last ones.
    const auto by_accuracy = [](const LadderStep& step) { return !step.tried_by.empty(); };
    const auto first_tried = std::ranges::find_if(steps, by_accuracy);
    const std::span<const LadderStep> tried(first_tried, steps.end());
    steps = steps.first(steps.size() - tried.size());

    recorder_.report("plain settings");
    choose_batch();
    tuned_ = defaults_;
    current_.subject = subjects_.build(base_, false);
    base_time_ = subjects_.time_of(*current_.subject);
    announce_time();
    const double weight = static_cast<double>(steps.size()) + kFinalWeight;
    enter_base(std::min(2.0, options_.seconds / weight / 4));

    // Divide the time among the steps that apply. This can change when a step is kept, so it is recomputed.
    for (std::size_t i = 0; i < steps.size(); ++i) {
      int left = 0;
      for (std::size_t j = i; j < steps.size(); ++j)
        left += steps[j].not_applicable(context_, current_.subject->settings()).empty();
      try_step(steps[i], left);
    }
    recorder_.recorded("tuned settings compared with defaults", [&] { choose_winner(); });
    for (const LadderStep& step : tried) try_by_accuracy(step);
    recorder_.recorded("best compared with plain settings", [&] { compare_with_base(); });
    result_.seconds_needed = recorder_.elapsed_counted() + missing_s_;
    result_.spans = recorder_.take_spans();
    return std::move(result_);
  }

 private:
  [[nodiscard]] BlockComparison compare(Subject& a, Subject& b, const ComparisonPlan& plan) {
    return compare_blocks({a, subjects_.time_of(a)}, {b, subjects_.time_of(b)}, plan, recorder_);
  }

  std::unique_ptr<Subject> build(const Settings& settings, bool in_process) {
    std::unique_ptr<Subject> subject = subjects_.build(settings, in_process);
    recorder_.report();
    return subject;
  }

  // Defaults and base, with a smaller batch if the steps of a network on the host are too slow.
  void choose_batch() {
    defaults_ = options_.defaults;
    base_ = base_of(defaults_, options_.target);
    if (!options_.may_reduce_batch || options_.target.emulated() || options_.target.cuda()) return;
    Settings probed = base_;
    set_batch(probed, std::min(kProbeBatch, base_.pipeline.batch.size));
    Rig rig(probed, subjects_.dataset(), options_.target);
    rig.step();  // the first step takes longer
    const double sample_s = rig.run(0, 1, nullptr, false).step_ms() / 1e3 / probed.pipeline.batch.size;
    const int batch = defaults_.pipeline.batch.size;
    const int fits = batch_that_fits(batch, sample_s * batch, options_.seconds, kLeastLadderSteps);
    if (fits == batch) return;
    context_.reduced_batch = true;
    result_.reduced_to = fits;
    set_batch(defaults_, fits);
    set_batch(base_, std::min(fits, kBaseBatch));
  }

  // With the batch of the user.
  [[nodiscard]] Settings with_own_batch(Settings settings) const {
    if (!context_.reduced_batch) return settings;
    settings.pipeline.batch.size = options_.defaults.pipeline.batch.size;
    settings.train.learning_rate = options_.defaults.train.learning_rate;
    return settings;
  }

  // Announces before the first step that the base and its comparison exceed the time.
  void announce_time() {
    const double blocks = kBaseSteps * base_time_.step_s;
    const double least = recorder_.elapsed() + blocks + least_final_time(base_time_, base_time_);
    recorder_.expect(least);
    if (least > (1 + kLongerShare) * options_.seconds + kLongerSeconds)
      emit_notice(
          fmt::format("tune: about {:.0f} s instead of {:.0f}, because a step of {} samples takes {:.2g} s and the "
                      "plain settings are measured in any case. Use a smaller batch or a longer --minutes.",
                      least, options_.seconds, base_.pipeline.batch.size, base_time_.step_s));
  }

  // The time for a step, with losses to compare if it affects learning. `build_s`: for what is not built yet. If it
  // does not fit, the entry is undecided.
  std::optional<double> plan(const LadderStep& step, int left, const SideTime& other, double build_s,
                             LedgerEntry& entry) {
    const SideTime current = subjects_.time_of(*current_.subject);
    const double batches = step.affects_learning ? kLossBatches * std::max(current.step_s, other.step_s) : 0;
    const double needed = build_s + pairs_time(current, other, kMinPairs, kShortestBlock) +
                          (step.affects_learning ? 2 * (subjects_.longest_s() + batches) : 0);
    const double at_end = final_time(base_time_, current, true);
    const std::optional<double> budget = plan_step(recorder_.seconds_left(), left, needed, at_end);
    if (!budget) {
      missing_s_ += needed;
      entry.verdict = Verdict::kUndecided;
      const double left_s = std::floor(recorder_.seconds_left() - at_end);
      entry.reason =
          fmt::format("{} pairs take about {:.0f} s, but {} left; increase --minutes", kMinPairs, std::ceil(needed),
                      left_s > 0 ? fmt::format("only {:.0f} s are", left_s) : "no time is");
    }
    return budget;
  }

  void enter_base(double seconds) {
    Block block;
    recorder_.recorded("plain settings", [&] { block = current_.subject->run(seconds, kBaseSteps - 1); });
    LedgerEntry entry;
    entry.name = "plain settings";
    entry.verdict = Verdict::kBase;
    entry.batch = base_.pipeline.batch.size;
    entry.memory_bytes = current_.subject->first().memory_bytes;
    entry.step_ms = block.step_ms();
    entry.samples_per_s = block.samples_per_s();
    current_.step = measured_step(block);
    result_.ledger.entries.push_back(entry);
  }

  // Tries one step; `left` steps that apply, this one included, share the time that is left.
  void try_step(const LadderStep& step, int left) {
    const Settings before = current_.subject->settings();
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
      recorder_.report(step.name);
      try {
        recorder_.recorded(step.name, [&] { measured(entry); });
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::kCancelled) throw;
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
    const double begin = recorder_.elapsed();
    const Settings before = result_.winner;
    enter(step, before, [&](LedgerEntry& entry) {
      const Candidate candidate = step.candidates(context_, before).front();
      entry.change = candidate.change;
      entry.by_accuracy = true;
      compare_by_accuracy(
          before, candidate.settings, options_.train, [&](std::string_view what) { recorder_.report(what); }, entry);
      if (entry.verdict != Verdict::kKept) return;
      step.copy(candidate.settings, result_.winner);
      result_.tuned = true;
    });
    recorder_.add_not_counted(recorder_.elapsed() - begin);
  }

  void measure(const LadderStep& step, int left, const Settings& before, LedgerEntry& entry) {
    const double begin = recorder_.elapsed();
    const std::optional<double> budget =
        plan(step, left, subjects_.time_of(*current_.subject), subjects_.longest_s(), entry);
    if (!budget) return;
    const std::vector<Candidate> candidates = step.candidates(context_, before);
    // The two sides of a comparison differ in their settings only: both have processes of their own, or none.
    in_process_ = in_process_ || SubjectBuilder::needs_process(candidates.front().settings);
    if (in_process_ && !current_.in_process) {
      current_.subject = build(before, true);
      current_.in_process = true;
    }
    Candidate best;
    std::unique_ptr<Subject> other = fastest(candidates, *budget * kScanShare, best);
    entry.change = best.change;
    const std::optional<double> rest = plan(step, left, subjects_.time_of(*other), 0, entry);
    if (!rest) return;
    entry.batch = best.settings.pipeline.batch.size;
    entry.memory_bytes = other->first().memory_bytes;
    entry.predicted = predict_candidate(current_.subject->profile(), current_.step, context_, before, best.settings);

    const double loss_time = step.affects_learning ? *budget * kLossShare : 0;
    const BlockComparison comparison = compare(*current_.subject, *other,
                                               {std::min(*budget - (recorder_.elapsed() - begin), *rest) - loss_time,
                                                kMinPairs,
                                                {"settings so far", "with the step"}});
    entry.ratio = comparison.interval();
    entry.step_ms = comparison.step_ms_b;
    entry.samples_per_s = comparison.rate_b();
    entry.verdict = judge(entry.ratio);
    if (entry.verdict == Verdict::kKept && step.affects_learning)
      compare_losses(before, best.settings, entry, loss_time / 2);
    apply_measured(step, entry, before, best.settings, tuned_);
    entry.reason = comparison.with_drift(std::move(entry.reason));
    if (entry.verdict != Verdict::kKept) return;
    current_.subject = std::move(other);
    current_.step = comparison.step_b;
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
    entry.loss_before = early_loss(before, subjects_.dataset(), options_.target, samples);
    entry.loss_after = early_loss(after, subjects_.dataset(), options_.target, samples);
    if (!std::isfinite(entry.loss_after) || entry.loss_after > kBrokenLoss * entry.loss_before) {
      entry.verdict = Verdict::kReverted;
      entry.reason = fmt::format("the loss diverges: {:.3f} instead of {:.3f} after {} samples", entry.loss_after,
                                 entry.loss_before, samples);
    }
  }

  // Compares the winner with the base and profiles both.
  void compare_with_base() {
    recorder_.report("best compared with plain settings");
    const bool in_process = SubjectBuilder::needs_process(base_) || SubjectBuilder::needs_process(result_.winner);
    Settings measured = result_.winner;
    if (context_.reduced_batch) set_batch(measured, defaults_.pipeline.batch.size);
    const std::unique_ptr<Subject> base = build(base_, in_process), winner = build(measured, in_process);
    base->record();
    winner->record();
    const BlockComparison comparison =
        compare(*base, *winner, {recorder_.seconds_left(), kLeastFinalPairs, {"plain settings", "best settings"}});
    result_.over_base = comparison.interval();
    result_.before = base->profile();
    result_.after = winner->profile();
    // The first and the last entry show this comparison, so that table, headline and profiles agree.
    LedgerEntry& first = result_.ledger.entries.front();
    first.samples_per_s = comparison.rate_a();
    first.step_ms = comparison.step_ms_a;
    LedgerEntry last;
    last.name = result_.tuned ? "tuned settings" : "defaults";
    last.verdict = Verdict::kFinal;
    last.batch = measured.pipeline.batch.size;
    last.memory_bytes = winner->first().memory_bytes;
    last.samples_per_s = comparison.rate_b();
    last.step_ms = comparison.step_ms_b;
    last.ratio = result_.over_base;
    last.reason = comparison.with_drift("the settings to use, compared with the plain settings");
    result_.ledger.entries.push_back(std::move(last));
  }

  // The tuned settings win only if they are proven to be faster than the defaults.
  void choose_winner() {
    result_.winner = options_.defaults;
    current_.subject.reset();  // frees its memory before two others are built
    if (tuned_ == defaults_) return;
    recorder_.report("tuned settings compared with defaults");
    const bool in_process = SubjectBuilder::needs_process(defaults_) || SubjectBuilder::needs_process(tuned_);
    const std::unique_ptr<Subject> defaults = build(defaults_, in_process), tuned = build(tuned_, in_process);
    result_.over_defaults =
        compare(*defaults, *tuned,
                {recorder_.seconds_left() / kFinalWeight, kLeastFinalPairs, {"defaults", "tuned settings"}})
            .interval();
    result_.tuned = judge(result_.over_defaults) == Verdict::kKept;
    if (result_.tuned) result_.winner = with_own_batch(tuned_);
  }

  const LadderOptions& options_;
  LadderRecorder recorder_;
  SubjectBuilder subjects_;
  LadderContext context_;
  Settings defaults_, base_;  // with the batch that is measured
  Settings tuned_;            // the defaults with what was measured: apply_measured()
  SideTime base_time_;
  double missing_s_ = 0;  // that steps needed which did not fit
  CurrentSettings current_;
  bool in_process_ = false;  // the following comparisons run in processes of their own
  LadderResult result_;
};

}  // namespace

Settings base_of(Settings defaults, const Target& target) {
  Settings base = std::move(defaults);
  if (!target.emulated()) {
    set_batch(base, std::min(kBaseBatch, base.pipeline.batch.size));
    base.train.precision = Precision::kFloat32;
    base.train.channels_last = false;
    base.train.fused_batch_norm = false;
    base.train.winograd = false;
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
