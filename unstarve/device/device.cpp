#include "unstarve/device/device.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/device/backends.h"

namespace unstarve {

namespace {

// The index in "cuda" and "cuda:N"; none for other names.
std::optional<int> cuda_index(const std::string& name) {
  if (name == "cuda") return 0;
  constexpr std::string_view kPrefix = "cuda:";
  if (!name.starts_with(kPrefix)) return {};
  int index = -1;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, index);
  if (error != std::errc{} || stop != end || index < 0) return {};
  return index;
}

}  // namespace

bool is_device_name(const std::string& name) { return name == "cpu" || cuda_index(name).has_value(); }

bool same_device(const std::string& a, const std::string& b) {
  const std::optional<int> index = cuda_index(a);
  return index ? index == cuda_index(b) : a == b;
}

std::unique_ptr<Device> open_device(const std::string& name) {
  if (name == "cpu") return open_host();
  if (const std::optional<int> index = cuda_index(name)) return open_cuda(*index);
  throw Error(ErrorKind::kArgument, "open device '" + name + "': expected cpu, cuda or cuda:N");
}

DeviceReport report_devices() {
  DeviceReport report;
  report_cuda(report);
  return report;
}

}  // namespace unstarve
