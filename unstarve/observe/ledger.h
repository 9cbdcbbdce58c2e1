#pragma once
// The ledger of a ladder: every change that was tried, its measured effect, and whether it was kept.
//
// A change is compared with the state before it in interleaved pairs. It is kept only if the 95 % confidence interval
// of the ratio is entirely above 1. A final entry shows the chosen settings compared with the plain ones.
//
// Threads: plain data and pure functions.

#include <cstddef>
#include <string>
#include <vector>

#include "unstarve/core/enum_words.h"
#include "unstarve/core/statistics.h"
#include "unstarve/observe/step_model.h"

namespace unstarve {

// With fewer pairs a change is undecided.
inline constexpr int kMinPairs = 6;

enum class Verdict { kKept, kReverted, kUndecided, kNotApplicable, kBase, kFinal };
template <>
inline constexpr std::array<std::string_view, 6> kWords<Verdict>{"kept",           "reverted", "undecided",
                                                                 "not applicable", "base",     "final"};

struct LedgerEntry {
  std::string name;    // "channels-last"
  std::string change;  // "memory format NCHW -> NHWC"
  Verdict verdict = Verdict::kBase;
  std::string reason;             // why not applicable, reverted or undecided; empty if the figures show it
  bool affects_learning = false;  // may change the training result (batch size, precision)
  bool approximate = false;       // output is not bit-equal to the exact path
  bool by_accuracy = false;       // `ratio` is of the times to an accuracy, instead of rates
  int batch = 0;
  std::size_t memory_bytes = 0;
  double step_ms = 0;
  double samples_per_s = 0;
  RatioInterval ratio;       // to the step before; final entry: to the base; for the base: 1, without pairs
  GainPrediction predicted;  // of the ratio, before it was measured
  double loss_before = 0;    // mean over the first steps, without and with the change; only if affects_learning
  double loss_after = 0;
};

struct Ledger {
  std::string title;  // "training on cpu, resnet18 at 32 px"
  std::vector<LedgerEntry> entries;
};

// Whether `ratio` is relative to the base.
[[nodiscard]] inline bool has_relative(const LedgerEntry& entry) noexcept {
  return entry.verdict == Verdict::kBase || entry.verdict == Verdict::kFinal;
}

// Whether the entry has figures: true for the base and for each change that was run.
[[nodiscard]] inline bool measured(const LedgerEntry& entry) noexcept {
  return entry.verdict == Verdict::kBase || entry.ratio.pairs > 0;
}

// How the predictions of gains compare with the measured ratios. A ratio agrees if its own interval and the predicted
// one have a number in common.
struct PredictionScore {
  int gains = 0, gains_agree = 0;    // predicted with a number
  int bounds = 0, bounds_agree = 0;  // of which only the largest gain was predicted
};
[[nodiscard]] PredictionScore score_predictions(const Ledger& ledger) noexcept;

// Undecided with fewer than kMinPairs pairs; else kept if interval.low > 1; else reverted.
[[nodiscard]] Verdict judge(const RatioInterval& interval) noexcept;

// The first base entry, and the last entry that is the base, was kept or is final; null if there is none.
[[nodiscard]] const LedgerEntry* base_entry(const Ledger& ledger) noexcept;
[[nodiscard]] const LedgerEntry* final_entry(const Ledger& ledger) noexcept;

// A table for the terminal with a header line, at most `width` columns wide; long reasons move below the table, as do
// all changes that are not applicable. Changes that affect learning are marked *, approximate ones ~; losses are listed
// below the table.
[[nodiscard]] std::string to_table(const Ledger& ledger, int width = 120);
// null: the figure does not exist (the interval of fewer than two pairs, no entries) or is not finite.
[[nodiscard]] std::string to_json(const Ledger& ledger);

}  // namespace unstarve
