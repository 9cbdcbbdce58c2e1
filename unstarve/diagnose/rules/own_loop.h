#pragma once
// A training loop that loads its samples in the main thread itself, without a loader that the stacks show.
//
// Threads: pure functions. Failure: none.

#include "unstarve/diagnose/profile/run_profile.h"
#include "unstarve/diagnose/profile/stack_shares.h"

namespace unstarve {

// The line in which the main thread is in a function of the program that evaluates, by its name; nullptr: in none.
[[nodiscard]] const CodeLine* evaluating_line(const PythonStacks& stacks, const StackUse& stack);
// Training computes gradients, evaluation does not.
[[nodiscard]] bool computes_gradients(const PythonStacks& stacks, const StackUse& stack);

// The share of the time in which the main thread loads samples outside of loaders: decodes images, changes them by
// Pillow, and what the functions around this do; see loading_share().
// 0: the program is not known to train, other threads or processes load, it loads only at its start or while it
// evaluates, or decoding takes less than 5 % of the time.
[[nodiscard]] double own_loading_share(const RunProfile& profile);
// The part of it that decodes images, or changes them.
[[nodiscard]] double own_share(const RunProfile& profile, Activity activity);
// The line of the program from which it does that most. share = 0 if there is none.
[[nodiscard]] HotLine own_loading_line(const RunProfile& profile);

}  // namespace unstarve
