#include "unstarve/device/device.h"

#include <charconv>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/device/backends.h"

namespace unstarve {

std::unique_ptr<Device> open_device(const std::string& name) {
  if (name == "cpu") return open_host();
  if (name == "cuda") return open_cuda(0);
  constexpr std::string_view kPrefix = "cuda:";
  if (name.starts_with(kPrefix)) {
    int index = -1;
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, index);
    if (error == std::errc{} && stop == end && index >= 0) return open_cuda(index);
  }
  throw Error(ErrorKind::kArgument, "open device '" + name + "': expected cpu, cuda or cuda:N");
}

DeviceReport report_devices() {
  DeviceReport report;
  report_cuda(report);
  return report;
}

}  // namespace unstarve
