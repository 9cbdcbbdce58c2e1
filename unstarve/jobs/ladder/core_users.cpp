#include "unstarve/jobs/ladder/core_users.h"

#include <unistd.h>

#include <algorithm>

#include "unstarve/core/clock.h"
#include "unstarve/jobs/ladder/part_rates.h"

namespace unstarve {

CoreUsers::CoreUsers() : machine_(::getpid()), begin_s_(seconds_now()), begin_cpu_ns_(process_cpu_ns()) {}

void CoreUsers::finish(BenchFigures& figures) {
  machine_.look();
  const double seconds = seconds_now() - begin_s_;
  const double own_cores = 1e-9 * static_cast<double>(process_cpu_ns() - begin_cpu_ns_) / seconds;
  set_core_users(machine_.use(seconds), own_cores, figures);
}

void set_core_users(const MachineUse& use, double own_cores, BenchFigures& figures) {
  figures.free_cores = std::max(use.affinity_cores - figures.usable_cores, 0);
  figures.other_cores = std::max(use.busy_cores - own_cores, 0.0);
  figures.stolen_share = use.stolen_share;
  figures.throttled_share = use.throttled_share;
}

}  // namespace unstarve
