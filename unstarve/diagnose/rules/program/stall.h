#pragma once
// A stall: the main thread does something else than training, such as saving the model. Rules differ in the activity.
//
// Threads: pure functions. Failure: none.

#include <optional>

#include "unstarve/diagnose/profile/stack_shares.h"
#include "unstarve/diagnose/rules/rule.h"

namespace unstarve {

struct Stall {
  Activity activity;
  const char* title;
  Changes changes;
  double threshold;
  HotLine otherwise{};  // the line if the caller is not known
};

// A finding that the main thread does this for `share` of the time; nothing below the threshold.
[[nodiscard]] std::optional<RunFinding> find_stall(const RunProfile& profile, const Stall& stall, double share);

// As stall_share(), at most 1.
[[nodiscard]] double main_stall_share(const RunProfile& profile, Activity activity, double least = 0.05,
                                      bool flushes = false);

}  // namespace unstarve
