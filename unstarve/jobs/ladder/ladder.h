#pragma once
// The climb: each rung measured against the step before it in interleaved blocks, kept only if it pays.
//
// Both sides of a comparison are alive at once, each with its own loader and network; only one works at a time (the
// other's loader stands still once its slots are full, and what it had made ahead is used up untimed). Blocks go
// A B B A A B B A ..., so that a machine that drifts drifts for both, and each neighbouring A and B is one pair.
//
// Time: `seconds` is shared out among the rungs that are left; a rung for which the time left does not allow kMinPairs
// pairs is entered as undecided with that reason.
// Threads: one caller. Failure: as Rig; a rung whose rig cannot be built (out of memory, say) is entered as reverted
// with the reason, and the climb goes on.

#include <memory>
#include <span>

#include "unstarve/core/profile.h"
#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/ladder/rung.h"
#include "unstarve/observe/ledger.h"

namespace unstarve {

struct LadderOptions {
  Settings base;
  Target target;
  double seconds = 180;
};

struct LadderResult {
  Ledger ledger;
  Settings winner;
  RatioInterval total;  // winner against base, measured once more at the end
  Profile before;       // of the base and of the winner in that last measurement
  Profile after;
};

[[nodiscard]] LadderResult climb(const LadderOptions& options, std::shared_ptr<const Dataset> dataset,
                                 std::span<const Rung* const> rungs, const Progress& progress = {});

// The base settings of a ladder: batch 32, float32, NCHW, one loader thread without prefetch, pageable memory, whole
// images decoded, one optimiser update per parameter; everything else as in `settings`.
[[nodiscard]] Settings base_of(Settings settings);

}  // namespace unstarve
