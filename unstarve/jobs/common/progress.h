#pragma once
// How long work tells how far it is; the command line draws a bar from it, a library user may ignore it.
//
// Threads: called from the thread that runs the job, at most some ten times a second.

#include <functional>
#include <string_view>

namespace unstarve {

// `what` is being done now; `share` of the whole job is done, 0..1.
using Progress = std::function<void(std::string_view what, double share)>;

}  // namespace unstarve
