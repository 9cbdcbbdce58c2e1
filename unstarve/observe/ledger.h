#pragma once
// The keep-or-revert ledger: what a ladder of changes tried, what each brought, and what was kept.
//
// Used by every ladder (tuning now, compressing later): a change is measured against the state before it in interleaved
// pairs; it is kept only when the 95 % interval of the ratio lies above 1.
// Threads: plain data and pure functions.

#include <cstddef>
#include <string>
#include <vector>

#include "unstarve/core/statistics.h"

namespace unstarve {

// Fewer pairs than this leave a change undecided.
inline constexpr int kMinPairs = 6;

enum class Verdict { kKept, kReverted, kUndecided, kNotApplicable, kBase };
// "kept", "reverted", "undecided", "not applicable", "base": the words of tables, JSON and reports.
[[nodiscard]] const char* to_string(Verdict verdict) noexcept;

struct LedgerEntry {
  std::string name;    // "channels last"
  std::string change;  // what was set: "memory format NCHW -> NHWC"
  Verdict verdict = Verdict::kBase;
  std::string reason;             // why not applicable, reverted or undecided; empty when the figures say it
  bool affects_learning = false;  // may change what is learned (batch size, precision)
  bool approximate = false;       // output is not bit-equal to the exact path
  int batch = 0;
  std::size_t memory_bytes = 0;
  double step_ms = 0;
  double samples_per_s = 0;
  double relative = 1;     // to the base: the product of the kept ratios and this one's
  RatioInterval ratio;     // to the step before; ratio 1 with no pairs for the base
  double loss_before = 0;  // mean over the first steps, of both sides; only where affects_learning
  double loss_after = 0;
};

struct Ledger {
  std::string title;  // "training on cpu, resnet18 at 32 px"
  std::vector<LedgerEntry> entries;
};

// Whether the entry has figures: the base, and every rung that was run at all.
[[nodiscard]] inline bool measured(const LedgerEntry& entry) noexcept {
  return entry.verdict == Verdict::kBase || entry.ratio.pairs > 0;
}

// Kept when interval.low > 1; undecided with fewer than kMinPairs pairs; else reverted.
[[nodiscard]] Verdict judge(const RatioInterval& interval) noexcept;

// The first entry that is a base, and the last one that stands (base or kept); null when there is none.
[[nodiscard]] const LedgerEntry* base_entry(const Ledger& ledger) noexcept;
[[nodiscard]] const LedgerEntry* final_entry(const Ledger& ledger) noexcept;

// The table of the terminal, with a header line; `width` columns at most, longest reasons cut. Names that affect
// learning are marked *, approximate ones ~, with the losses below the table.
[[nodiscard]] std::string to_table(const Ledger& ledger, int width = 120);
// {"title":..., "base":samples_per_s, "final":samples_per_s, "rungs":[{name,change,status,reason,batch,memory_bytes,
// step_ms,samples_per_s,relative,ratio,low,high,pairs,affects_learning,approximate,loss_before,loss_after}]}
// null stands for a figure that is not finite (an interval of fewer than two pairs) or not there (no entries).
[[nodiscard]] std::string to_json(const Ledger& ledger);

}  // namespace unstarve
