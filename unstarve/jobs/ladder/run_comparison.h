#pragma once
// Compares two settings by whole training runs: by the training time to the highest accuracy that both reach.
//
// Threads: one. Failure: as the runs; Error(kCheck) as times_to_accuracy().

#include <functional>
#include <string_view>

#include "unstarve/jobs/settings/settings.h"
#include "unstarve/observe/ledger.h"
#include "unstarve/train/history.h"

namespace unstarve {

// A whole run with validation.
using TrainRun = std::function<TrainHistory(const Settings& settings)>;

// Runs kMinPairs pairs, each with a seed of its own, in the order A B B A ..., and completes `entry`, which has a name.
// `report` receives what runs.
void compare_by_accuracy(const Settings& before, const Settings& after, const TrainRun& train,
                         const std::function<void(std::string_view what)>& report, LedgerEntry& entry);

}  // namespace unstarve
