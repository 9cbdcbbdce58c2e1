#include "unstarve/jobs/tune.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "unstarve/core/version.h"
#include "unstarve/jobs/ladder/ladder.h"
#include "unstarve/observe/report.h"
#include "unstarve/pipeline/order/sources.h"

namespace unstarve {
namespace {

std::string now_utc() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::now())); }

std::string title_of(const Settings& settings, const Target& target) {
  if (target.emulated())
    return fmt::format("feeding {} from {} at {} px", target.name, name_of_sources(settings.pipeline),
                       settings.train.image_size);
  return fmt::format("training {} on {} from {} at {} px", settings.train.model, target.name,
                     name_of_sources(settings.pipeline), settings.train.image_size);
}

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

}  // namespace

TuneResult run_tune(const TuneOptions& options, const Progress& progress) {
  const Target target = parse_target(options.device);
  notify_done_on_host(options.settings.pipeline);
  const auto dataset = open_sources(options.settings.pipeline);
  LadderOptions ladder;
  ladder.base = base_of(options.settings);
  ladder.target = target;
  ladder.seconds = options.minutes * 60;
  LadderResult tuned = run_ladder(ladder, dataset, rungs(), progress);

  TuneResult result;
  result.ledger = std::move(tuned.ledger);
  result.ledger.title = title_of(ladder.base, target);
  result.winner = std::move(tuned.winner);
  result.total = tuned.total;
  result.before = std::move(tuned.before);
  result.after = std::move(tuned.after);
  const bool any_kept = std::ranges::any_of(result.ledger.entries,
                                            [](const LedgerEntry& entry) { return entry.verdict == Verdict::kKept; });
  result.verdict =
      fmt::format("{} {:.2f} {} [{:.2f}, {:.2f}]{}",
                  any_kept ? "the kept steps reach" : "no step was kept; the base compared with itself measured",
                  result.total.ratio, any_kept ? "times the base" : "times", result.total.low, result.total.high,
                  largest_part(result.after));
  return result;
}

std::string winner_yaml(const TuneResult& result, const std::string& command) {
  return to_yaml(result.winner, fmt::format("{}\ncreated by: {}\nat {}, unstarve {}\n{}", result.ledger.title, command,
                                            now_utc(), kVersion, result.verdict));
}

Report report_of(const std::vector<TuneResult>& results, const std::string& title, const std::string& command) {
  Report report;
  report.title = title;
  report.command = command;
  report.created = now_utc();
  report.version = kVersion;
  report.machine = read_machine_facts();
  for (const TuneResult& result : results) {
    ReportSection section;
    section.ledger = result.ledger;
    section.total = result.total;
    section.before = result.before;
    section.after = result.after;
    section.verdict = result.verdict;
    report.sections.push_back(std::move(section));
  }
  return report;
}

std::string to_text(const TuneResult& result, int width) {
  return to_table(result.ledger, width) + result.verdict + "\n";
}

std::string to_json(const TuneResult& result) {
  auto json = nlohmann::ordered_json::parse(to_json(result.ledger));
  json["total"] = {{"ratio", result.total.ratio}, {"low", result.total.low}, {"high", result.total.high}};
  json["verdict"] = result.verdict;
  json["before"] = nlohmann::ordered_json::parse(to_json(result.before));
  json["after"] = nlohmann::ordered_json::parse(to_json(result.after));
  return json.dump();
}

}  // namespace unstarve
