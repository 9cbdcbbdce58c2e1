#pragma once
// What the processes of a training job are for, from their names, threads, parents and CPU time.
//
// Threads: pure functions. Failure: none.

#include <span>

#include "unstarve/diagnose/profile/run_profile.h"

namespace unstarve {

// Sets the role of every process.
//
//   loader   has a thread that torch calls pt_data_worker, or is a child of Python's multiprocessing or a fork of a
//            process that works itself
//   main     of the others, those with at least half of the most CPU time, and with them the ranks: processes with a
//            thread of torch's process groups, and those that have the same parent and arguments at the same time
//   other    shells, launchers, servers of multiprocessing, sums of several processes, and all others
void set_roles(std::span<ProcessUse> processes);

}  // namespace unstarve
