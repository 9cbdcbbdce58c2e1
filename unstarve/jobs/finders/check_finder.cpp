#include "unstarve/jobs/finders/check_finder.h"

#include "unstarve/core/error.h"
#include "unstarve/device/device.h"
#include "unstarve/jobs/host/start_environment.h"
#include "unstarve/pipeline/spec/check_spec.h"

namespace unstarve {

void check_finder(const Settings& settings, ConfigurationFaults& faults) {
  faults.collect([&] { check_settings(settings.train); });
  faults.collect([&] { check_graph(settings.train); });
  faults.collect([&] { check_spec(settings.pipeline); });
  faults.collect([&] { check_allocator(settings.host); });
  faults.collect([&] { (void)open_device(settings.train.device); });
}

}  // namespace unstarve
