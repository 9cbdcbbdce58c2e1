#pragma once
// What the page of watch shows of the threads in a few steps.
//
// Threads: a pure function. Failure: none.

#include "unstarve/diagnose/profile/thread_window.h"
#include "unstarve/observe/timeline.h"

namespace unstarve {

// A row of steps, if they are known, and one for each thread. Without spans if the window has none.
[[nodiscard]] Timeline timeline_of(const ThreadWindow& window);

}  // namespace unstarve
