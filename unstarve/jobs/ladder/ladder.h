#pragma once
// The tuning ladder: compares each optimisation with the current settings in interleaved blocks and keeps it if it
// helps.
//
// Both sides of a comparison exist at the same time, each with its own loader and network, but only one runs: the
// loader of the other stops when its slots are full, and its prefetched batches are consumed untimed. Blocks run in the
// order A B B A A B B A ..., so that a drift of the machine affects both sides; neighbouring A and B form one pair.
//
// Time:    `seconds` is divided among the remaining steps. A step without enough time for kMinPairs pairs is undecided.
// Threads: one caller.
// Failure: as Rig. A step whose rig cannot be built (out of memory, for example) is reverted with the reason, and the
//          ladder continues.

#include <memory>
#include <span>

#include "unstarve/core/profile.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/ladder/rung.h"
#include "unstarve/observe/ledger.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

struct LadderOptions {
  Settings base;
  Target target;
  double seconds = 180;
};

struct LadderResult {
  Ledger ledger;
  Settings winner;
  RatioInterval total;  // winner compared with base, measured at the end
  Profile before;       // profiles of base and winner in that measurement
  Profile after;
};

[[nodiscard]] LadderResult run_ladder(const LadderOptions& options, std::shared_ptr<const Dataset> dataset,
                                      std::span<const Rung> rungs, const Progress& progress = {});

// The base settings: batch size 32, float32, NCHW, one loader thread without prefetch, pageable memory, full decode,
// one optimiser update per parameter; everything else as in `settings`.
[[nodiscard]] Settings base_of(Settings settings);

}  // namespace unstarve
