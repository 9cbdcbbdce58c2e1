#include "unstarve/jobs/settings/target.h"

#include "unstarve/core/error.h"
#include "unstarve/device/device.h"
#include "unstarve/observe/accelerator.h"

namespace unstarve {

Target parse_target(const std::string& name) {
  const Target target{name};
  if (target.emulated()) {
    (void)find_accelerator(target.accelerator());
    return target;
  }
  if (is_device_name(name)) return target;
  std::string known;
  for (const AcceleratorModel& model : accelerator_models()) known += " emulated:" + std::string(model.name);
  throw Error(ErrorKind::kArgument, "device \"" + name + "\": expected cpu, cuda, cuda:N or one of" + known);
}

}  // namespace unstarve
