#include "unstarve/observe/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "unstarve/core/json.h"
#include "unstarve/observe/format.h"

namespace unstarve {
namespace {

constexpr std::size_t kColumns = 9;
constexpr std::size_t kRatioColumn = 7, kOutcomeColumn = 8;
constexpr std::size_t kMinNameWidth = 10;
constexpr std::size_t kGap = 2;

using Row = std::array<std::string, kColumns>;

std::string marked_name(const LedgerEntry& entry) {
  std::string name = printable(entry.name);
  if (entry.affects_learning) name += " *";
  if (entry.approximate) name += " ~";
  return name;
}

std::string outcome(const LedgerEntry& entry) {
  if (entry.verdict == Verdict::kBase) return printable(entry.reason);
  std::string text = to_string(entry.verdict);
  if (!entry.reason.empty()) text += ": " + printable(entry.reason);
  return text;
}

std::string predicted_text(const GainPrediction& predicted) {
  if (!predicted.known()) return "";
  return predicted.gain > 0 ? fmt::format("{:.2f}", predicted.gain) : fmt::format("<= {:.2f}", predicted.high);
}

Row table_row(const LedgerEntry& entry) {
  Row row;
  row[0] = marked_name(entry);
  row[kOutcomeColumn] = outcome(entry);
  if (!measured(entry)) return row;
  row[1] = entry.batch > 0 ? std::to_string(entry.batch) : "-";
  row[2] = format_bytes(entry.memory_bytes);
  row[3] = fmt::format("{:.1f}", entry.step_ms);
  row[4] = format_rate(entry.samples_per_s);
  if (has_relative(entry)) row[5] = fmt::format("{:.0f} %", entry.ratio.ratio * 100);
  row[6] = predicted_text(entry.predicted);
  if (entry.verdict != Verdict::kBase) {
    row[kRatioColumn] =
        entry.ratio.pairs > 1 ? format_interval(entry.ratio.ratio, entry.ratio.low, entry.ratio.high) : "-";
  }
  return row;
}

// Explains the marks after the names and lists the losses of changes that affect learning.
void append_notes(const Ledger& ledger, std::size_t width, std::string& table) {
  const auto add = [&](const std::string& line) { table += clip(line, width) + "\n"; };
  const auto has = [&](auto member) {
    return std::ranges::any_of(ledger.entries, [&](const auto& e) { return e.*member; });
  };
  if (has(&LedgerEntry::affects_learning)) {
    add("* may change the training result");
    for (const LedgerEntry& entry : ledger.entries) {
      if (!entry.affects_learning || !measured(entry)) continue;
      if (entry.loss_before == 0 && entry.loss_after == 0) continue;
      add(fmt::format("  {}: mean loss of the first steps {:.4f} without, {:.4f} with this step", printable(entry.name),
                      entry.loss_before, entry.loss_after));
    }
  }
  const PredictionScore score = score_predictions(ledger);
  if (score.gains + score.bounds > 0) {
    add(fmt::format("predictions before measuring: {} of {} gains and {} of {} upper bounds agree with the results",
                    score.gains_agree, score.gains, score.bounds_agree, score.bounds));
  }
  if (has(&LedgerEntry::approximate)) add("~ approximate: the output is not bit-equal to the exact output");
}

// Rows with a common reason: each reason once, with the names of its rows.
class Reasons {
 public:
  void add(const std::string& reason, const std::string& name) {
    const auto known = std::ranges::find(all_, reason, &Reason::text);
    if (known == all_.end())
      all_.push_back({reason, name});
    else
      known->names += ", " + name;
  }

  void append_to(std::string& table, std::size_t width) const {
    for (const Reason& reason : all_) {
      const std::string text = reason.text.empty() ? reason.names : reason.names + ": " + reason.text;
      table += "  " + wrap(text, width, 2) + "\n";
    }
  }

  [[nodiscard]] bool empty() const { return all_.empty(); }

 private:
  struct Reason {
    std::string text, names;
  };
  std::vector<Reason> all_;
};

}  // namespace

PredictionScore score_predictions(const Ledger& ledger) noexcept {
  PredictionScore score;
  for (const LedgerEntry& entry : ledger.entries) {
    const GainPrediction& predicted = entry.predicted;
    if (!predicted.known() || entry.ratio.pairs < 2) continue;
    const bool below = entry.ratio.low <= predicted.high;
    if (predicted.gain > 0) {
      ++score.gains;
      score.gains_agree += below && entry.ratio.high >= predicted.low;
    } else {
      ++score.bounds;
      score.bounds_agree += below;
    }
  }
  return score;
}

Verdict judge(const RatioInterval& interval) noexcept {
  if (interval.pairs < kMinPairs) return Verdict::kUndecided;
  return interval.low > 1 ? Verdict::kKept : Verdict::kReverted;
}

const LedgerEntry* base_entry(const Ledger& ledger) noexcept {
  for (const LedgerEntry& entry : ledger.entries) {
    if (entry.verdict == Verdict::kBase) return &entry;
  }
  return nullptr;
}

const LedgerEntry* final_entry(const Ledger& ledger) noexcept {
  const LedgerEntry* last = nullptr;
  for (const LedgerEntry& entry : ledger.entries) {
    if (has_relative(entry) || entry.verdict == Verdict::kKept) last = &entry;
  }
  return last;
}

std::string to_table(const Ledger& ledger, int width) {
  const std::size_t columns = static_cast<std::size_t>(std::max(width, 20));
  std::vector<Row> rows = {
      {"step", "batch", "memory", "step ms", "samples/s", "of plain", "predicted", "vs. before (95 %)", ""}};
  Reasons below, not_applicable;  // printed below the table
  for (const LedgerEntry& entry : ledger.entries) {
    if (entry.verdict == Verdict::kNotApplicable)
      not_applicable.add(printable(entry.reason), marked_name(entry));
    else
      rows.push_back(table_row(entry));
  }

  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], text_width(row[i]));
  }
  // Figures are never cut. The remaining width goes to the outcome (at least its verdict), then to the names.
  std::size_t figures = kGap * (kColumns - 1);
  for (std::size_t i = 1; i + 1 < kColumns; ++i) figures += widths[i];
  const std::size_t shortest_outcome = std::min(widths[kOutcomeColumn], text_width(to_string(Verdict::kUndecided)));
  const std::size_t room = columns > figures + shortest_outcome ? columns - figures - shortest_outcome : 0;
  widths[0] = std::min(widths[0], std::max(kMinNameWidth, room));

  std::string table;
  if (!ledger.title.empty()) table += clip(printable(ledger.title), columns) + "\n";
  for (const Row& row : rows) {
    std::string line = pad_right(clip(row[0], widths[0]), widths[0]);
    for (std::size_t i = 1; i + 1 < kColumns; ++i) {
      line += std::string(kGap, ' ');
      line += i == kRatioColumn ? pad_right(row[i], widths[i]) : pad_left(row[i], widths[i]);
    }
    line += std::string(kGap, ' ');
    if (text_width(line) + text_width(row[kOutcomeColumn]) <= columns) {
      line += row[kOutcomeColumn];
    } else {  // the verdict alone
      const std::size_t colon = row[kOutcomeColumn].find(": ");
      line += row[kOutcomeColumn].substr(0, colon);
      if (colon != std::string::npos) below.add(row[kOutcomeColumn].substr(colon + 2), row[0]);
    }
    line = clip(line, columns);
    line.erase(line.find_last_not_of(' ') + 1);
    table += line + "\n";
  }
  below.append_to(table, columns);
  if (!not_applicable.empty()) table += "not applicable\n";
  not_applicable.append_to(table, columns);
  append_notes(ledger, columns, table);
  return table;
}

// The names of the fields in JSON are those of the members.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LedgerEntry, name, change, reason, batch, memory_bytes, step_ms, samples_per_s,
                                   affects_learning, approximate, by_accuracy, loss_before, loss_after)

std::string to_json(const Ledger& ledger) {
  using nlohmann::json;
  const auto rate_of = [](const LedgerEntry* entry) { return entry ? json(entry->samples_per_s) : json(); };
  const auto json_of = [](const GainPrediction& predicted) {
    if (!predicted.known()) return json();
    return json{{"gain", predicted.gain > 0 ? json(predicted.gain) : json()},
                {"low", predicted.gain > 0 ? json(predicted.low) : json()},
                {"high", predicted.high}};
  };
  json rungs = json::array();
  for (const LedgerEntry& entry : ledger.entries) {
    json& rung = rungs.emplace_back(entry);
    const bool interval = entry.ratio.pairs > 1;
    rung.update({{"status", to_string(entry.verdict)},
                 {"relative", has_relative(entry) ? json(entry.ratio.ratio) : json()},
                 {"ratio", entry.ratio.ratio},
                 {"low", interval ? json(entry.ratio.low) : json()},
                 {"high", interval ? json(entry.ratio.high) : json()},
                 {"pairs", entry.ratio.pairs},
                 {"predicted", json_of(entry.predicted)}});
  }
  const json all = {{"title", ledger.title},
                    {"base", rate_of(base_entry(ledger))},
                    {"final", rate_of(final_entry(ledger))},
                    {"rungs", std::move(rungs)}};
  // Names may come from a file system and need not be valid UTF-8; invalid bytes become replacement characters.
  return json_text(all);
}

}  // namespace unstarve
