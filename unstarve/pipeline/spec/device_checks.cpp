#include "unstarve/pipeline/spec/spec_checks.h"

#include <string>

#include <fmt/format.h>

#include "unstarve/core/error.h"
#include "unstarve/device/device.h"
#include "unstarve/pipeline/spec/spec_yaml.h"

namespace unstarve {

void check_device(const DeviceSpec& device) {
  const auto fail = [](const char* node, const std::string& what) {
    throw Error(ErrorKind::kArgument, std::string(node) + ": " + what);
  };
  if (!device.name.empty() && !is_device_name(device.name))
    fail("device.name", fmt::format("\"{}\", expected cpu, cuda or cuda:N", device.name));
  if (device.operations == OperationsOn::kDevice && device.name.empty())
    fail("device.operations", "device without device.name; expected cpu, cuda or cuda:N there");
  if (device.decode != DecodeOn::kHost && device.operations == OperationsOn::kHost)
    fail("device.decode", fmt::format("{} with device.operations: host; expected device.operations: device, because "
                                      "images decoded on the device are cropped there",
                                      to_string(device.decode)));
  if (!device.decode_share) return;
  if (!(*device.decode_share >= 0 && *device.decode_share <= 1))
    fail("device.decode_share", fmt::format("{}, expected 0 to 1", *device.decode_share));
  if (device.decode == DecodeOn::kHost)
    fail("device.decode_share", fmt::format("{} with device.decode: host; expected no share, or device.decode: hybrid, "
                                            "gpu_hybrid or hardware",
                                            *device.decode_share));
}

}  // namespace unstarve
