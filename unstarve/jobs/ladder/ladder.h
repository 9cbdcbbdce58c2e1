#pragma once
// The tuning ladder: compares each optimisation with the current settings in interleaved blocks and keeps it if it
// helps. It starts from plain settings, so that the gain of every optimisation is visible, and ends with settings that
// are at least as fast as the defaults.
//
//   base = base_of(defaults), the plain settings -> try the steps one by one
//   tuned = defaults + what the kept steps changed
//   winner = tuned if it is faster than the defaults in an interleaved comparison, otherwise the defaults
//
// Both sides of a comparison exist at the same time, each with its own loader and network, but only one runs: the
// loader of the other stops when its slots are full, and its prefetched batches are consumed untimed. Blocks run in the
// order A B B A A B B A ..., so that a drift of the machine affects both sides; neighbouring A and B form one pair.
//
// A step that is measured to be slower, with the whole interval below 1, is also removed from the defaults.
//
// Steps that only whole runs can judge (LadderStep::tried_by) come after that, on request. Pairs of runs, with and
// without the step and with another seed for each pair, are compared by the time to an accuracy; the step is added to
// the winner if the whole interval of the ratio is above 1.
//
// Host settings belong to a process (jobs/host). The steps that change them come last: from the first one on, both
// sides of each comparison have a process of their own (subject.h).
//
// Time:    `seconds` is divided among the remaining steps. A step without enough time for kMinPairs pairs, and for the
//          comparisons at the end after it, is undecided (ladder_time.h). At the end the winner is compared with the
//          base in two pairs in any case. If that exceeds `seconds`, a notice says so before the first step.
//          Whole runs are not counted.
// Threads: one caller.
// Failure: as Rig. A step whose rig cannot be built (out of memory, for example) is reverted with the reason, and the
//          ladder continues.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/profile.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/common/recording.h"
#include "unstarve/jobs/ladder/ladder_step.h"
#include "unstarve/jobs/ladder/run_comparison.h"
#include "unstarve/observe/ledger.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

struct LadderOptions {
  Settings defaults;  // what the user would run without tuning
  Target target;
  double seconds = 180;
  // If the steps of a network on the host are too slow for `seconds`, everything is measured with a smaller batch.
  bool may_reduce_batch = false;
  std::string program{};  // path of the program, for other processes; "": steps of host settings do not apply
  std::vector<std::string> tried{};  // LadderContext::tried
  TrainRun train{};                  // for the steps of `tried`
};

struct LadderResult {
  Ledger ledger;  // the last entry is the final comparison of winner and base
  Settings winner;
  bool tuned = false;           // the winner is not the defaults
  int reduced_to = 0;           // samples per batch that were measured instead of those of the defaults; 0: these
  double seconds_needed = 0;    // that would have sufficed for the steps that did not fit
  RatioInterval over_base;      // of the winner, measured at the end
  RatioInterval over_defaults;  // of the tuned settings, measured at the end; no pairs if they are the defaults
  Profile before;               // profiles of base and winner in the comparison over_base
  Profile after;
  std::vector<RecordedSpan> spans;  // steps of the ladder and, within them, their blocks with rates
};

[[nodiscard]] LadderResult run_ladder(const LadderOptions& options, std::shared_ptr<const Dataset> dataset,
                                      std::span<const LadderStep> steps, const Progress& progress = {});

// The plain settings: one worker thread without prefetch, pageable memory, full decode; for a network also batch size
// 32, float32, NCHW, separate batch norm, one optimiser update per parameter and the default host settings. All other
// settings are those of `defaults`.
[[nodiscard]] Settings base_of(Settings defaults, const Target& target);

// Changes `tuned` by what was measured: a step that is kept is copied from `after`, one that is slower from `before`.
void apply_measured(const LadderStep& step, const LedgerEntry& entry, const Settings& before, const Settings& after,
                    Settings& tuned);

}  // namespace unstarve
