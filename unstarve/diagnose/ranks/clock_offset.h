#pragma once
// The offset between the clocks of two hosts, from the ends of the steps of two ranks.
//
// Ranks that synchronise in every step end their steps at the same true time, apart from what each does between the
// exchange and the end of its step. So the median difference of corresponding ends is the offset of the clocks. Ends
// correspond by the count of steps. If the counts disagree (a rank began to count later), the shift with the smallest
// spread is chosen, if it is clearly better than any other. Ends without a partner are left out.
//
// Threads: pure functions. Failure: none. Cost: about 1 ms for 2048 steps.

#include <optional>

#include "unstarve/diagnose/profile/rank_use.h"

namespace unstarve {

struct ClockOffset {
  double seconds = 0;   // of the second clock: positive if it shows a later time
  double spread_s = 0;  // median distance of a difference from the offset, without drift
  double drift = 0;     // seconds per second by which the second clock gains
  int steps = 0;        // pairs of ends
  double step_s = 0;    // median duration of a step of the first rank
  // Whether the ranks synchronise in every step: the spread is less than a tenth of a step, and the drift is less than
  // that of clocks, 0.001. Otherwise the other members do not describe clocks.
  bool synchronised = false;
};

// Nothing with fewer than eight pairs, or if the ends cannot be matched.
[[nodiscard]] std::optional<ClockOffset> clock_offset(const RankSteps& first, const RankSteps& second);

}  // namespace unstarve
