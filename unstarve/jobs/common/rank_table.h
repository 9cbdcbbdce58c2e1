#pragma once
// The ranks of a job as a table.
//
// Threads: pure functions. Failure: none.

#include <span>
#include <string>

#include "unstarve/diagnose/profile/rank_use.h"
#include "unstarve/observe/curves.h"

namespace unstarve {

// One row per rank, with the offset of its clock from that of the first; nothing for fewer than two ranks. Says if the
// ranks do not synchronise in every step.
[[nodiscard]] std::string ranks_to_text(std::span<const RankUse> ranks);
// The same for a report.
[[nodiscard]] FiguresTable ranks_table(std::span<const RankUse> ranks);

}  // namespace unstarve
