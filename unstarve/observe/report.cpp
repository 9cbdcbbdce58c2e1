#include "unstarve/observe/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "unstarve/core/file.h"
#include "unstarve/core/statistics.h"
#include "unstarve/core/version.h"
#include "unstarve/observe/facts.h"
#include "unstarve/observe/format.h"
#include "unstarve/observe/html.h"
#include "unstarve/observe/report_assets.h"
#include "unstarve/observe/report_tables.h"

namespace unstarve {
namespace {

// The page must open offline and years later, and no text in it may cause a request: all fetches are forbidden.
constexpr const char* kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

constexpr const char* kSeeTable = "Chart of the figures in the following table";

// Ids of the comparison and of its command.
constexpr const char *kComparison = "comparison", *kComparisonCommand = "command-comparison";

// The command that measures a part of the page: the id of its element, and its text. Figures link to it.
struct Source {
  std::string id;  // "": there is no command

  // After the caption of a chart or table.
  [[nodiscard]] std::string link() const {
    return id.empty() ? "" : fmt::format(" <a class=\"source\" href=\"#{}\">command</a>", id);
  }
  // Around a figure.
  [[nodiscard]] std::string around(const std::string& html) const {
    return id.empty() ? html : fmt::format("<a href=\"#{}\">{}</a>", id, html);
  }
};

std::string command_html(const std::string& id, const std::string& command) {
  if (command.empty()) return {};
  return fmt::format("<pre class=\"command\" id=\"{}\"><code>{}</code></pre>\n", id, escape_html(command));
}

// A container for a chart, which the scripts draw.
struct Chart {
  const char* kind;
  std::size_t section;
  Source source;

  // `label` is the text for screen readers.
  [[nodiscard]] std::string html(const char* title, const std::string& label) const {
    return fmt::format(
        "<figure class=\"chart\"><figcaption>{2}{4}</figcaption>"
        "<div class=\"plot\" data-chart=\"{0}\" data-section=\"{1}\" role=\"img\" aria-label=\"{3}\"></div>"
        "</figure>\n",
        kind, section, escape_html(title), escape_html(label), source.link());
  }
};

std::string details(const char* summary, const std::string& html) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", escape_html(summary), html);
}

int count(const Ledger& ledger, Verdict verdict) {
  return static_cast<int>(std::ranges::count(ledger.entries, verdict, &LedgerEntry::verdict));
}

std::string ladder_in_words(const Ledger& ledger) {
  std::string words = "Samples per second by step:";
  for (const LedgerEntry& entry : ledger.entries) {
    words += " " + entry.name + " ";
    if (measured(entry)) words += format_rate(entry.samples_per_s) + ", ";
    words += std::string(to_string(entry.verdict)) + ";";
  }
  return words;
}

std::string gain_text(const Ledger& ledger) {
  const LedgerEntry* const base = base_entry(ledger);
  const LedgerEntry* const last = final_entry(ledger);
  if (base == nullptr || last == nullptr) return {};
  return fmt::format("{} → {} samples/s", format_rate(base->samples_per_s), format_rate(last->samples_per_s));
}

std::string tile(const std::string& value, const std::string& label, const Source& source) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", source.around(escape_html(value)),
                     escape_html(label));
}

std::string ladder_tiles(const Ledger& ledger, const std::optional<RatioInterval>& total, const Source& source) {
  const LedgerEntry* const last = final_entry(ledger);
  if (base_entry(ledger) == nullptr || last == nullptr) return {};
  std::string html = "<div class=\"tiles\">\n";
  const int kept = count(ledger, Verdict::kKept);
  if (total)
    html += tile(fmt::format("{:.2f} ×", total->ratio),
                 fmt::format("the plain settings [{:.2f}, {:.2f}]", total->low, total->high), source);
  html += tile(gain_text(ledger), "before and after", source);
  const auto steps = std::ranges::count_if(
      ledger.entries, [](const LedgerEntry& entry) { return measured(entry) && !has_relative(entry); });
  html += tile(fmt::format("{} of {}", kept, steps), "measured steps kept", source);
  return html + "</div>\n";
}

std::string utilisation_in_words(const char* name, const Profile* profile) {
  if (profile == nullptr || profile->utilisation.empty()) return {};
  std::vector<double> values;
  for (const UtilisationPoint& point : profile->utilisation) values.push_back(point.utilisation);
  return fmt::format(" {}: median {}, 10th percentile {}.", name, format_percent(median(values)),
                     format_percent(quantile(values, 0.1)));
}

std::string profiles_html(const Profile* before, const Profile* after, std::size_t index, const Source& source) {
  const auto any = [&](auto member) {
    return (before && !(before->*member).empty()) || (after && !(after->*member).empty());
  };
  std::string html;
  if (any(&Profile::step)) {
    html += "<h3>Time per part of a training step</h3>\n";
    html += Chart{"step", index, source}.html("Time per sample by part of the step", kSeeTable);
    html += details("Figures", step_table(before, after, source.link()));
  }
  if (any(&Profile::stages)) {
    html += "<h3>Time per stage of the loader</h3>\n";
    html += Chart{"stages", index, source}.html("Thread time per sample by stage", kSeeTable);
    html += details("Figures", stage_table(before, after, source.link()));
  }
  if (any(&Profile::utilisation)) {
    const std::string words = utilisation_in_words("Before", before) + utilisation_in_words("After", after);
    html += "<h3>Utilisation over time</h3>\n";
    html += Chart{"utilisation", index, source}.html("Compute time / wall time", "Utilisation over time." + words);
    html += fmt::format("<p class=\"note\">{}</p>\n", escape_html(words));
  }
  return html;
}

std::string title_of(const ReportSection& section) {
  return section.ledger.title.empty() ? "Measurement" : section.ledger.title;
}

Source source_of(const Report& report, std::size_t index) {
  if (!report.sections[index].command.empty()) return {fmt::format("command-{}", index + 1)};
  return {report.command.empty() ? "" : "command"};
}

std::string section_html(const Report& report, std::size_t index) {
  const ReportSection& section = report.sections[index];
  const Source source = source_of(report, index);
  std::string html = fmt::format("<section id=\"part-{}\">\n<h2>{}</h2>\n", index + 1, escape_html(title_of(section)));
  if (!section.verdict.empty()) html += fmt::format("<p class=\"verdict\">{}</p>\n", escape_html(section.verdict));
  html += command_html(source.id, section.command);
  if (!section.ledger.entries.empty()) {
    html += ladder_tiles(section.ledger, section.total, source);
    html += Chart{"ladder", index, source}.html("Samples per second after each step", ladder_in_words(section.ledger));
    html += ladder_table(section.ledger, source.link());
  }
  html += profiles_html(section.before ? &*section.before : nullptr, section.after ? &*section.after : nullptr, index,
                        source);
  return html + "</section>\n";
}

std::string tiles_html(const std::vector<ReportTile>& tiles, const Source& source) {
  if (tiles.empty()) return {};
  std::string html = "<div class=\"tiles\">\n";
  for (const ReportTile& each : tiles) html += tile(each.value, each.label, source);
  return html + "</div>\n";
}

std::string findings_html(const std::vector<ReportFinding>& findings) {
  if (findings.empty()) return {};
  std::string html = "<ol class=\"findings\">\n";
  for (const ReportFinding& finding : findings) {
    html += fmt::format("<li><h3>{}</h3><dl>", escape_html(finding.title));
    for (const auto& [name, text] : {std::pair{"Evidence", finding.evidence},
                                     {"Change", finding.change},
                                     {"Gain", finding.gain},
                                     {"Confidence", finding.confidence}})
      if (!text.empty()) html += fmt::format("<dt>{}</dt><dd>{}</dd>", name, escape_html(text));
    html += "</dl></li>\n";
  }
  return html + "</ol>\n";
}

// The indices of a section's first charts and graph in the figures.
struct FirstFigures {
  std::size_t bars = 0, chart = 0, timeline = 0, flame = 0;
};

std::string curves_html(const Report& report, std::size_t index, FirstFigures first) {
  const CurveSection& section = report.curves[index];
  const Source source{report.command.empty() ? "" : "command"};
  std::string html = fmt::format("<section id=\"curves-{}\">\n<h2>{}</h2>\n", index + 1, escape_html(section.title));
  if (!section.verdict.empty()) html += fmt::format("<p class=\"verdict\">{}</p>\n", escape_html(section.verdict));
  html += tiles_html(section.tiles, source);
  html += findings_html(section.findings);
  for (const std::string& note : section.notes) html += fmt::format("<p class=\"note\">{}</p>\n", escape_html(note));
  for (const ReportLink& link : section.links) {
    html += fmt::format("<p class=\"note\"><a href=\"{}\">{}</a>: {}</p>\n", escape_html(link.url),
                        escape_html(link.name), escape_html(link.text));
  }
  for (const BarChart& chart : section.bars)
    html += Chart{"bars", first.bars++, source}.html(chart.title.c_str(), in_words(chart));
  for (const CurveChart& chart : section.charts)
    html += Chart{"curves", first.chart++, source}.html(chart.title.c_str(), in_words(chart));
  for (const Timeline& timeline : section.timelines)
    html += Chart{"timelines", first.timeline++, source}.html(timeline.title.c_str(), in_words(timeline));
  for (const FlameGraph& graph : section.flames)
    html += Chart{"flames", first.flame++, source}.html(graph.title.c_str(), in_words(graph));
  for (const FiguresTable& table : section.tables) {
    const std::string figures = figures_table(table, source.link());
    html += table.folded ? details("Figures", figures) : figures;
  }
  return html + "</section>\n";
}

std::string comparison_html(const Comparison& comparison) {
  const Source source{comparison.command.empty() ? "" : kComparisonCommand};
  std::string html = fmt::format("<section id=\"{}\">\n<h2>Compared with other loaders</h2>\n", kComparison);
  html += command_html(source.id, comparison.command);
  if (!comparison.loaders.empty()) html += comparison_table(comparison, source.link());
  if (!comparison.note.empty()) html += fmt::format("<p class=\"note\">{}</p>\n", escape_html(comparison.note));
  if (!comparison.setup.empty()) html += fmt::format("<p class=\"note\">{}</p>\n", escape_html(comparison.setup));
  for (const std::string& reason : comparison.left_out)
    html += fmt::format("<p class=\"note\">{}</p>\n", escape_html(reason));
  return html + "</section>\n";
}

// How many times the rate of the fastest other loader this library has; null if nothing was compared.
const ComparedLoader* fastest_other(const Comparison& comparison) {
  const ComparedLoader* fastest = nullptr;
  for (const ComparedLoader& loader : comparison.loaders)
    if (loader.times && (!fastest || loader.samples_per_s > fastest->samples_per_s)) fastest = &loader;
  return fastest;
}

std::string headline_html(const std::optional<Comparison>& comparison) {
  const ComparedLoader* const other = comparison ? fastest_other(*comparison) : nullptr;
  if (!other) return {};
  return fmt::format("<p class=\"headline\"><b>{}</b> {}</p>\n",
                     Source{kComparisonCommand}.around(fmt::format("{:.2f} ×", other->times->ratio)),
                     escape_html(comparison->headline));
}

// One line per part, so that all results are visible without scrolling.
std::string overview(const Report& report) {
  if (report.sections.size() + (report.comparison ? 1 : 0) < 2) return {};
  std::string html = "<nav aria-label=\"Parts of this report\"><ul>\n";
  if (report.comparison) {
    const ComparedLoader* const other = fastest_other(*report.comparison);
    html += fmt::format("<li><a href=\"#{}\">Compared with other loaders</a> <span>{}</span></li>\n", kComparison,
                        other ? Source{kComparisonCommand}.around(fmt::format("{:.2f} ×", other->times->ratio)) : "");
  }
  for (std::size_t i = 0; i < report.sections.size(); ++i) {
    const ReportSection& section = report.sections[i];
    html += fmt::format("<li><a href=\"#part-{}\">{}</a> <span>{}</span></li>\n", i + 1, escape_html(title_of(section)),
                        source_of(report, i).around(escape_html(gain_text(section.ledger))));
  }
  return html + "</ul></nav>\n";
}

// "2026-11-21T08:00:00Z" -> "2026-11-21 08:00 UTC"; other formats are returned unchanged.
std::string readable_time(std::string iso) {
  if (iso.size() != 20 || iso[10] != 'T' || iso[19] != 'Z') return iso;
  return iso.substr(0, 10) + " " + iso.substr(11, 5) + " UTC";
}

std::string header_html(const Report& report) {
  std::string html = fmt::format("<header>\n<h1>{}</h1>\n", escape_html(report.title));
  html += headline_html(report.comparison) + command_html("command", report.command);
  html += fmt::format("<p class=\"meta\"><time datetime=\"{}\">{}</time> · unstarve {}", escape_html(report.created),
                      escape_html(readable_time(report.created)), escape_html(report.version));
  if (!report.machine.cpu_model.empty()) {
    html += fmt::format(" · {}, {} usable {}", escape_html(report.machine.cpu_model), report.machine.topology.usable(),
                        report.machine.topology.usable() == 1 ? "core" : "cores");
  }
  html += "</p>\n";
  for (const std::string& reason : report.left_out)
    html += fmt::format("<p class=\"note\">{}</p>\n", escape_html(reason));
  return html + overview(report) + "</header>\n";
}

}  // namespace

Report report_of_now(std::string title, std::string command) {
  Report report;
  report.title = std::move(title);
  report.command = std::move(command);
  report.created = now_utc();
  report.version = kVersion;
  report.machine = read_machine_facts();
  return report;
}

std::string render_report(const Report& report) {
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html += fmt::format("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", kPolicy);
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  html += "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n";
  html += fmt::format("<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n", escape_html(report.title),
                      report_style());
  html += header_html(report);
  if (report.comparison) html += comparison_html(*report.comparison);
  for (std::size_t i = 0; i < report.sections.size(); ++i) html += section_html(report, i);
  FirstFigures first;
  for (std::size_t i = 0; i < report.curves.size(); ++i) {
    html += curves_html(report, i, first);
    first.bars += report.curves[i].bars.size();
    first.chart += report.curves[i].charts.size();
    first.timeline += report.curves[i].timelines.size();
    first.flame += report.curves[i].flames.size();
  }
  html += fmt::format("<section id=\"machine\">\n<h2>{}</h2>\n{}</section>\n", escape_html(report.machine_title),
                      facts_list(describe(report.machine)));
  html += fmt::format(
      "</main>\n<footer><p>Created by unstarve {}.{} Brackets show the 95 % confidence interval.</p></footer>\n",
      escape_html(report.version),
      report.sections.empty() ? "" : " Each ratio compares a step with the step before it in interleaved A/B runs.");
  html += fmt::format("<script type=\"application/json\" id=\"figures\">{}</script>\n",
                      escape_json_island(report_island(report)));
  html += fmt::format("<script>\n/*! uPlot\n{}*/\n{}</script>\n", plot_licence(), plot_library());
  html += fmt::format("<script>\n(() => {{\n\"use strict\";\n{}}})();\n</script>\n</body>\n</html>\n", report_script());
  return html;
}

void write_report(const Report& report, const std::filesystem::path& path) {
  write_file_atomically(path, render_report(report));
}

}  // namespace unstarve
