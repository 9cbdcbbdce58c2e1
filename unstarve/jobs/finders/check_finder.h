#pragma once
// The checks of `lr-find` and `batch-find` before they allocate anything.
//
// Threads: any. Failure: faults are collected.

#include "unstarve/jobs/settings/settings.h"
#include "unstarve/jobs/training/configuration_faults.h"

namespace unstarve {

// Adds faults of the settings, of the device and of the libraries of this machine.
void check_finder(const Settings& settings, ConfigurationFaults& faults);

}  // namespace unstarve
