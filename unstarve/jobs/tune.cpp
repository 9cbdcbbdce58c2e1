#include "unstarve/jobs/tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "unstarve/core/json.h"
#include "unstarve/core/version.h"
#include "unstarve/jobs/ladder/block_comparison.h"
#include "unstarve/jobs/ladder/ladder.h"
#include "unstarve/jobs/train.h"
#include "unstarve/observe/format.h"
#include "unstarve/observe/report.h"
#include "unstarve/pipeline/order/sources.h"
#include "unstarve/pipeline/spec/spec_yaml.h"

namespace unstarve {
namespace {

std::string title_of(const Settings& settings, const Target& target) {
  if (target.emulated())
    return fmt::format("feeding {} from {} at {} px", target.name, name_of_sources(settings.pipeline),
                       settings.train.image_size);
  return fmt::format("training {} on {} from {} at {} px", settings.train.model, target.name,
                     name_of_sources(settings.pipeline), settings.train.image_size);
}

// Ratios within this distance of 1 count as equal.
constexpr double kEqual = 0.01;
// high / low of an interval that is too wide to decide, and of one that is narrow enough.
constexpr double kWide = 1.10, kNarrow = 1.05;
bool too_wide(const RatioInterval& r) { return r.pairs > 1 && r.low <= 1 && r.high >= 1 && r.high >= kWide * r.low; }
// Longest duration that is recommended, in minutes.
constexpr double kLongest = 120;

// The part of a step with the largest mean time, and its share.
std::string largest_part(const Profile& profile) {
  double total = 0;
  const StepPart* largest = nullptr;
  for (const StepPart& part : profile.step) {
    total += part.mean_ms;
    if (!largest || part.mean_ms > largest->mean_ms) largest = &part;
  }
  if (!largest || total <= 0) return "";
  return fmt::format("; the largest part of a step is now {} ({:.0f} %)",
                     largest->name == "wait" ? "waiting for data" : largest->name, 100 * largest->mean_ms / total);
}

// What the network waits for, and how busy it is, before and after; empty without recorded steps.
CurveSection idle_section(const TuneResult& result) {
  CurveSection section;
  section.title = "Idle time and utilisation";
  BarChart chart;
  chart.title = "Mean time per step in which nothing is computed, ms";
  chart.unit = "ms";
  FiguresTable table{
      "Utilisation over time", {"settings", "10th percentile", "median", "90th percentile"}, {}, false, true};
  for (const auto& [name, profile] : {std::pair{"plain settings", &result.before}, {"best settings", &result.after}}) {
    Bar bar{name, "", {}, 0, 0};
    double idle = 0;
    for (const StepPart& part : profile->step) {
      if (part.name != "wait" && part.name != "copy") continue;
      bar.parts.push_back({part.name == "wait" ? "waiting for data" : "copy", part.mean_ms});
      idle += part.mean_ms;
    }
    bar.figure = fmt::format("{:.3g} ms", idle);
    if (!bar.parts.empty()) chart.bars.push_back(std::move(bar));
    std::vector<double> shares;
    for (const UtilisationPoint& point : profile->utilisation) shares.push_back(point.utilisation);
    if (shares.empty()) continue;
    table.rows.push_back({name});
    for (const double q : {0.1, 0.5, 0.9}) table.rows.back().push_back(format_percent(quantile(shares, q)));
  }
  if (!chart.bars.empty()) section.bars.push_back(std::move(chart));
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
  return section;
}

}  // namespace

KeptSteps kept_steps(const Ledger& ledger, const RatioInterval& over_defaults) {
  const auto any = [&](bool by_accuracy, Verdict verdict) {
    return std::ranges::any_of(ledger.entries, [&](const LedgerEntry& entry) {
      return entry.by_accuracy == by_accuracy && entry.verdict == verdict;
    });
  };
  const bool any_kept = any(false, Verdict::kKept);
  if (judge(over_defaults) == Verdict::kKept) return any_kept ? KeptSteps::kFaster : KeptSteps::kFewerFaster;
  if (any(true, Verdict::kKept)) return KeptSteps::kByAccuracy;
  if (over_defaults.pairs > 0) return any_kept ? KeptSteps::kNotFaster : KeptSteps::kFewerNotFaster;
  if (any_kept) return KeptSteps::kInDefaults;
  const bool measured_any = any(false, Verdict::kReverted), left_out = any(false, Verdict::kUndecided);
  return left_out && !measured_any ? KeptSteps::kNotMeasured : KeptSteps::kNone;
}

std::string verdict_of(const RatioInterval& over_base, const RatioInterval& over_defaults, KeptSteps kept) {
  const auto text = [](const RatioInterval& r) { return format_interval(r.ratio, r.low, r.high); };
  const char* const wide = ", an interval too wide to decide (a longer --minutes narrows it)";
  const bool below_base = over_base.pairs > 1 && over_base.high < 1;
  const std::string base = text(over_base) + " times the plain settings" +
                           (below_base            ? ", which are faster"
                            : too_wide(over_base) ? wide
                                                  : "");
  const bool fewer = kept == KeptSteps::kFewerFaster || kept == KeptSteps::kFewerNotFaster;
  const std::string compared =
      fewer ? "no step was faster; the defaults without the slower steps reach " : "the kept steps reach ";
  if (kept == KeptSteps::kFaster || kept == KeptSteps::kFewerFaster)
    return compared + text(over_defaults) + " times the defaults and " + base;
  if (kept == KeptSteps::kByAccuracy) {
    const std::string others = over_defaults.pairs > 0 ? "; the settings without these steps reach " +
                                                             text(over_defaults) + " times the defaults"
                                                       : "";
    return "the defaults with the steps kept for their time to accuracy reach " + base + others;
  }
  const bool equal = over_defaults.low >= 1 - kEqual && over_defaults.high <= 1 + kEqual;
  const bool decided = over_defaults.pairs == 0 || equal || over_defaults.high < 1;
  const std::string stay =
      below_base || !decided || kept == KeptSteps::kNotMeasured ? "the defaults stay" : "defaults are best";
  if (kept == KeptSteps::kNotMeasured)
    return stay + ": no step was measured, because --minutes is too short; the defaults reach " + base;
  if (kept == KeptSteps::kNone) return stay + ": no step was kept; the defaults reach " + base;
  if (kept == KeptSteps::kInDefaults) return stay + ": they contain all steps that were kept, and reach " + base;
  return fmt::format("{}: {}{} times the defaults{}; the defaults reach {}", stay, compared, text(over_defaults),
                     decided ? "" : wide, base);
}

Undecided undecided(const TuneResult& result) {
  Undecided found;
  const auto add = [&](const std::string& name, const RatioInterval& r) {
    if (!too_wide(r)) return;
    found.noisy.push_back(name);
    // Narrow enough is an interval that excludes 1 by half of its distance, or of a few percent around 1. The width
    // falls with the square root of the time, and faster while more time means more pairs.
    const double narrow = std::max(std::log(kNarrow), std::abs(std::log(r.ratio)));
    const double more_pairs = student_t_975(std::max(r.pairs, kMostBlockPairs) - 1) / student_t_975(r.pairs - 1);
    const double widths = r.low > 0 ? std::log(r.high / r.low) / narrow * more_pairs : kLongest;
    found.times_longer = std::max({found.times_longer, widths * widths, double{kMostBlockPairs} / r.pairs});
  };
  for (const LedgerEntry& entry : result.ledger.entries) {
    if (has_relative(entry) || entry.by_accuracy) continue;  // --minutes do not change whole runs
    if (entry.verdict == Verdict::kUndecided)
      found.not_measured.push_back(entry.name);
    else
      add(entry.name, entry.ratio);
  }
  add("the comparison with the defaults", result.over_defaults);
  add("the comparison with the plain settings", result.total);
  return found;
}

void describe_noise(std::vector<TuneResult>& results, const std::string& command, double minutes) {
  for (TuneResult& result : results) {
    const Undecided found = undecided(result);
    std::vector<std::string> reasons;
    if (!found.noisy.empty())
      reasons.push_back(fmt::format("the machine was too noisy to decide on {}", fmt::join(found.noisy, ", ")));
    if (!found.not_measured.empty())
      reasons.push_back(fmt::format("the time was too short to measure {}", fmt::join(found.not_measured, ", ")));
    if (reasons.empty()) continue;
    const double needed = std::ceil(minutes * std::max(found.times_longer, result.times_needed));
    const double longer = std::min(std::max(needed, std::floor(minutes) + 1), std::max(kLongest, minutes));
    static const std::regex given(" --minutes[ =][^ ]+");
    result.noise = fmt::format("{}; measure longer with: {} --minutes {:g}", fmt::join(reasons, "; "),
                               std::regex_replace(command, given, ""), longer);
  }
}

namespace {

// A run that is evaluated four times per epoch.
TrainHistory train_once(const TuneOptions& options, const Settings& settings) {
  TrainOptions run;
  run.settings = settings;
  run.settings.train.device = options.device;
  run.validation = options.validation;
  run.epochs = options.epochs;
  run.evaluate_every = 0.25;
  return run_train(run).history;
}

// "; kept for their time to accuracy: average of the weights (EMA) (1.21 [1.10, 1.33])"
std::string kept_by_accuracy(const Ledger& ledger) {
  std::vector<std::string> kept;
  for (const LedgerEntry& entry : ledger.entries)
    if (entry.by_accuracy && entry.verdict == Verdict::kKept)
      kept.push_back(
          fmt::format("{} ({})", entry.name, format_interval(entry.ratio.ratio, entry.ratio.low, entry.ratio.high)));
  return kept.empty() ? "" : fmt::format("; kept for their time to accuracy: {}", fmt::join(kept, ", "));
}

}  // namespace

TuneResult run_tune(const TuneOptions& options, const Progress& progress) {
  const Target target = parse_target(options.device);
  notify_done_on_host(options.settings.pipeline);
  const auto dataset = open_sources(options.settings.pipeline);
  const LadderOptions ladder{options.settings,
                             target,
                             options.minutes * 60,
                             options.may_reduce_batch,
                             options.program,
                             options.tried,
                             [&](const Settings& settings) { return train_once(options, settings); }};
  LadderResult tuned = run_ladder(ladder, dataset, ladder_steps(), progress);

  TuneResult result;
  result.ledger = std::move(tuned.ledger);
  result.ledger.title = title_of(options.settings, target);
  result.winner = std::move(tuned.winner);
  result.emulated = target.emulated();
  result.own_output = options.own_output;
  result.total = tuned.over_base;
  result.over_defaults = tuned.over_defaults;
  result.before = std::move(tuned.before);
  result.after = std::move(tuned.after);
  result.spans = std::move(tuned.spans);
  result.times_needed = tuned.seconds_needed / ladder.seconds;
  result.verdict = verdict_of(result.total, result.over_defaults, kept_steps(result.ledger, result.over_defaults)) +
                   kept_by_accuracy(result.ledger) + largest_part(result.after);
  if (tuned.reduced_to > 0)
    result.verdict +=
        fmt::format("; measured with {} sample{} per step instead of {}, which are too slow for --minutes",
                    tuned.reduced_to, tuned.reduced_to == 1 ? "" : "s", options.settings.pipeline.batch.size);
  return result;
}

std::string winner_yaml(const TuneResult& result, const std::string& command) {
  const std::string comment = fmt::format("{}\ncreated by: {}\nat {}, unstarve {}\n{}", result.ledger.title, command,
                                          now_utc(), kVersion, result.verdict);
  if (!result.emulated) return to_yaml(result.winner, comment);
  std::string lines = "# " + comment;
  for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += 3) lines.replace(at, 1, "\n# ");
  PipelineSpec pipeline = result.winner.pipeline;
  if (pipeline.output.type == ElementType::kUint8) pipeline.output.normalisation = {};  // a network would apply it
  return lines + "\n" + to_yaml(pipeline, result.own_output ? "" : "output");
}

Recording recording_of(const TuneResult& result, const std::string& command) {
  Recording recording;
  recording.command = command;
  if (!result.spans.empty()) recording.tracks.push_back({"tune", "ladder", result.spans});
  std::string rows;
  std::int64_t number = 0;
  const auto add = [&](const char* tag, double value) {
    if (std::isfinite(value)) recording.scalars.push_back({tag, {{number, value}}});
  };
  for (const LedgerEntry& entry : result.ledger.entries) {
    if (measured(entry)) {
      add("tune/samples_per_s", entry.samples_per_s);
      add("tune/step_ms", entry.step_ms);
    }
    if (entry.ratio.pairs > 0) {
      const std::string group = has_relative(entry) ? "tune_over_plain/" : "tune_over_step_before/";
      add((group + "ratio").c_str(), entry.ratio.ratio);
      add((group + "low").c_str(), entry.ratio.low);
      add((group + "high").c_str(), entry.ratio.high);
    }
    rows += fmt::format("| {} | {} | {} | {} | {} |\n", number++, entry.name, to_string(entry.verdict), entry.change,
                        entry.reason);
  }
  for (const auto& [run, profile] : {std::pair{"plain", &result.before}, {"best", &result.after}}) {
    RecordedScalar scalar{"tune/utilisation", {}, run};
    for (const UtilisationPoint& point : profile->utilisation)
      scalar.points.emplace_back(static_cast<std::int64_t>(scalar.points.size()), point.utilisation);
    recording.scalars.push_back(std::move(scalar));
  }
  recording.text_tag = "tune/ladder";
  recording.text = result.verdict + "\n\n| step | name | verdict | change | reason |\n|---|---|---|---|---|\n" + rows;
  return recording;
}

Report report_of(const std::vector<TuneResult>& results, const std::string& title, const std::string& command) {
  Report report = report_of_now(title, command);
  for (const TuneResult& result : results) {
    ReportSection section;
    section.ledger = result.ledger;
    section.total = result.total;
    section.before = result.before;
    section.after = result.after;
    section.verdict = result.verdict + (result.noise.empty() ? "" : ". Note: " + result.noise);
    report.sections.push_back(std::move(section));
    if (CurveSection idle = idle_section(result); !idle.tables.empty()) report.curves.push_back(std::move(idle));
  }
  return report;
}

std::string to_text(const TuneResult& result, int width) {
  return to_table(result.ledger, width) + result.verdict + "\n" + (result.noise.empty() ? "" : result.noise + "\n");
}

std::string to_json(const TuneResult& result) {
  auto json = parse_ordered_json(to_json(result.ledger));
  const auto interval = [](const RatioInterval& r) {
    const auto bound = [&](double value) { return r.pairs > 1 ? nlohmann::ordered_json(value) : nullptr; };
    return nlohmann::ordered_json{{"ratio", r.ratio}, {"low", bound(r.low)}, {"high", bound(r.high)}};
  };
  json["total"] = interval(result.total);
  json["over_defaults"] = result.over_defaults.pairs > 0 ? interval(result.over_defaults) : nlohmann::ordered_json();
  json["verdict"] = result.verdict;
  json["noise"] = result.noise;
  json["spans"] = to_json(result.spans);
  json["before"] = parse_ordered_json(to_json(result.before));
  json["after"] = parse_ordered_json(to_json(result.after));
  return json_text(json);
}

}  // namespace unstarve
