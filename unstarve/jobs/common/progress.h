#pragma once
// Progress reports of a job: the command line draws a progress bar from them; other callers may ignore them.
//
// Threads: called from the thread that runs the job, about ten times a second at most.

#include <functional>
#include <string_view>

namespace unstarve {

// `what`: the current activity. `share`: completed part of the whole job, 0..1.
using Progress = std::function<void(std::string_view what, double share)>;

}  // namespace unstarve
