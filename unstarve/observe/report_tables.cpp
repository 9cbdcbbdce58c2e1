#include "unstarve/observe/report_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "unstarve/core/json.h"
#include "unstarve/observe/format.h"
#include "unstarve/observe/html.h"

namespace unstarve {
namespace {

// CSS class and sign of a verdict (signs are readable without colour), as in charts.css and ladder.js.
struct VerdictLook {
  const char* name;
  const char* sign;
};

VerdictLook look_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kKept: return {"kept", "✓"};
    case Verdict::kReverted: return {"reverted", "↩"};
    case Verdict::kUndecided: return {"undecided", "?"};
    case Verdict::kNotApplicable: return {"absent", "–"};
    case Verdict::kFinal: return {"final", "★"};
    case Verdict::kBase: break;
  }
  return {"base", "•"};
}

std::string name_cell(const LedgerEntry& entry) {
  std::string html = fmt::format("<span class=\"name\">{}</span>", escape_html(entry.name));
  if (!entry.change.empty()) html += fmt::format("<span class=\"change\">{}</span>", escape_html(entry.change));
  if (entry.affects_learning) {
    html += "<span class=\"mark\">affects learning";
    if (entry.loss_before != 0 || entry.loss_after != 0) {
      html += fmt::format(": loss {:.3f} → {:.3f}", entry.loss_before, entry.loss_after);
    }
    html += "</span>";
  }
  if (entry.approximate) html += "<span class=\"mark\">approximate</span>";
  return html;
}

std::string status_cell(const LedgerEntry& entry) {
  const VerdictLook look = look_of(entry.verdict);
  std::string html =
      fmt::format("<span class=\"status\"><span class=\"sign\" aria-hidden=\"true\">{}</span> {}</span>", look.sign,
                  entry.verdict == Verdict::kBase ? "plain settings" : to_string(entry.verdict));
  if (!entry.reason.empty()) html += fmt::format("<span class=\"reason\">{}</span>", escape_html(entry.reason));
  return html;
}

// "1.44" over "[1.42, 1.46]".
std::string ratio_cell(const LedgerEntry& entry) {
  const RatioInterval& r = entry.ratio;
  if (entry.verdict == Verdict::kBase || entry.verdict == Verdict::kNotApplicable || r.pairs < 2) return {};
  return fmt::format("<span>{:.2f} <span class=\"interval\">[{:.2f}, {:.2f}]</span></span>", r.ratio, r.low, r.high);
}

std::string predicted_cell(const GainPrediction& predicted) {
  if (!predicted.known()) return {};
  if (predicted.gain <= 0) return fmt::format("at most {:.2f}", predicted.high);
  return fmt::format("<span>{:.2f} <span class=\"interval\">[{:.2f}, {:.2f}]</span></span>", predicted.gain,
                     predicted.low, predicted.high);
}

std::string ms_text(double ms) { return std::isfinite(ms) ? fmt::format("{:.{}f}", ms, ms < 10 ? 2 : 1) : "-"; }

// The names of both runs in order of first appearance.
template <class Part>
std::vector<std::string> names_of(const std::vector<Part>* before, const std::vector<Part>* after) {
  std::vector<std::string> names;
  for (const auto* parts : {before, after}) {
    if (parts == nullptr) continue;
    for (const Part& part : *parts) {
      if (std::ranges::find(names, part.name) == names.end()) names.push_back(part.name);
    }
  }
  return names;
}

template <class Part>
const Part* find_part(const std::vector<Part>* parts, const std::string& name) {
  if (parts == nullptr) return nullptr;
  const auto found = std::find_if(parts->begin(), parts->end(), [&](const Part& p) { return p.name == name; });
  return found == parts->end() ? nullptr : &*found;
}

}  // namespace

std::string comparison_table(const Comparison& comparison, const std::string& link) {
  const auto text = [](const std::optional<RatioInterval>& r) {
    return r ? fmt::format("{:.2f} <span class=\"interval\">[{:.2f}, {:.2f}]</span>", r->ratio, r->low, r->high) : "";
  };
  HtmlTable table("Images per second",
                  {{"loader"}, {"images/s", true}, {"unstarve is faster by", true}, {"from the second epoch on", true}},
                  true);
  table.link(link);
  for (const ComparedLoader& loader : comparison.loaders)
    table.add_row({fmt::format("<span class=\"name\">{}</span><span class=\"change\">{}</span>",
                               escape_html(loader.name), escape_html(loader.settings)),
                   format_rate(loader.samples_per_s), text(loader.times), text(loader.times_later)},
                  loader.times ? "" : "kept");
  return table.finish();
}

std::string ladder_table(const Ledger& ledger, const std::string& link) {
  HtmlTable table("All tuning steps",
                  {{"step"},
                   {"batch", true},
                   {"memory", true},
                   {"step ms", true},
                   {"samples/s", true},
                   {"of plain", true},
                   {"predicted ratio", true},
                   {"ratio to the step before", true},
                   {"verdict"}},
                  true);
  table.link(link);
  std::vector<LedgerEntry> not_applicable;  // one for each reason, with all names: after the steps that are
  for (const LedgerEntry& entry : ledger.entries) {
    if (entry.verdict == Verdict::kNotApplicable) {
      const auto known = std::ranges::find(not_applicable, entry.reason, &LedgerEntry::reason);
      if (known != not_applicable.end()) {
        known->name += ", " + entry.name;
      } else {
        not_applicable.push_back(entry);
        not_applicable.back().affects_learning = not_applicable.back().approximate = false;  // true of some of them
      }
      continue;
    }
    std::vector<std::string> cells(9);
    cells[0] = name_cell(entry);
    if (measured(entry)) {
      cells[1] = entry.batch > 0 ? std::to_string(entry.batch) : "";
      cells[2] = entry.memory_bytes > 0 ? format_bytes(entry.memory_bytes) : "";
      cells[3] = ms_text(entry.step_ms);
      cells[4] = format_rate(entry.samples_per_s);
      if (has_relative(entry)) cells[5] = fmt::format("{:.0f} %", entry.ratio.ratio * 100);
      cells[6] = predicted_cell(entry.predicted);
      cells[7] = ratio_cell(entry);
    }
    cells[8] = status_cell(entry);
    table.add_row(cells, look_of(entry.verdict).name);
  }
  for (const LedgerEntry& entry : not_applicable) {
    std::vector<std::string> cells(9);
    cells[0] = name_cell(entry);
    cells[8] = status_cell(entry);
    table.add_row(cells, look_of(entry.verdict).name);
  }
  return table.finish();
}

std::string step_table(const Profile* before, const Profile* after, const std::string& link) {
  HtmlTable table("Parts of a step, ms per step", {{"part"},
                                                   {"before: mean", true},
                                                   {"median", true},
                                                   {"p95", true},
                                                   {"after: mean", true},
                                                   {"median", true},
                                                   {"p95", true}});
  table.link(link);
  const auto* const old_parts = before ? &before->step : nullptr;
  const auto* const new_parts = after ? &after->step : nullptr;
  for (const std::string& name : names_of(old_parts, new_parts)) {
    std::vector<std::string> cells = {escape_html(name)};
    for (const StepPart* part : {find_part(old_parts, name), find_part(new_parts, name)}) {
      for (const double StepPart::*figure : {&StepPart::mean_ms, &StepPart::median_ms, &StepPart::p95_ms}) {
        cells.push_back(part ? ms_text(part->*figure) : "");
      }
    }
    table.add_row(cells);
  }
  return table.finish();
}

std::string stage_table(const Profile* before, const Profile* after, const std::string& link) {
  HtmlTable table("Stages of the loader, thread time per sample", {{"stage"},
                                                                   {"before: µs", true},
                                                                   {"share", true},
                                                                   {"bytes", true},
                                                                   {"after: µs", true},
                                                                   {"share", true},
                                                                   {"bytes", true}});
  table.link(link);
  const auto* const old_stages = before ? &before->stages : nullptr;
  const auto* const new_stages = after ? &after->stages : nullptr;
  const auto total_of = [](const std::vector<StageProfile>* stages) {
    double total = 0;
    for (const StageProfile& stage : stages ? *stages : std::vector<StageProfile>()) {
      if (stage.name != "wait") total += static_cast<double>(stage.busy_ns);
    }
    return total;
  };
  const std::array<double, 2> totals = {total_of(old_stages), total_of(new_stages)};
  for (const std::string& name : names_of(old_stages, new_stages)) {
    std::vector<std::string> cells = {escape_html(name)};
    const std::array<const StageProfile*, 2> stages = {find_part(old_stages, name), find_part(new_stages, name)};
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const StageProfile* const stage = stages[i];
      const bool any = stage != nullptr && stage->samples > 0;
      const double busy = any ? static_cast<double>(stage->busy_ns) : 0;
      const double samples = any ? static_cast<double>(stage->samples) : 1;
      cells.push_back(any ? format_rate(busy / 1e3 / samples) : "");
      // Waiting time is shown, but it is not part of the work.
      cells.push_back(any && name != "wait" && totals[i] > 0 ? format_percent(busy / totals[i]) : "");
      cells.push_back(any && stage->bytes > 0 ? format_bytes(static_cast<std::uint64_t>(stage->bytes / stage->samples))
                                              : "");
    }
    table.add_row(cells);
  }
  return table.finish();
}

std::string report_island(const Report& report) {
  using nlohmann::json;
  const auto profile_json = [](const std::optional<Profile>& profile) {
    return profile ? parse_json(to_json(*profile)) : json();
  };
  json sections = json::array();
  for (const ReportSection& section : report.sections) {
    sections.push_back({{"ledger", parse_json(to_json(section.ledger))},
                        {"before", profile_json(section.before)},
                        {"after", profile_json(section.after)}});
  }
  // The charts of one kind of all sections.
  const auto islands = [&](auto member) {
    json all = json::array();
    for (const CurveSection& section : report.curves)
      for (const auto& chart : section.*member) all.push_back(island_of(chart));
    return all;
  };
  const json island{{"sections", std::move(sections)},
                    {"bars", islands(&CurveSection::bars)},
                    {"curves", islands(&CurveSection::charts)},
                    {"timelines", islands(&CurveSection::timelines)},
                    {"flames", islands(&CurveSection::flames)}};
  return json_text(island);
}

}  // namespace unstarve
