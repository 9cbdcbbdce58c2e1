#include "unstarve/observe/pci_accelerators.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "unstarve/observe/kernel_files.h"

namespace unstarve {
namespace {

struct PciVendor {
  std::string_view number;
  const char* name;
};
// Of pci.ids.
constexpr std::array<PciVendor, 5> kVendors = {
    {{"0x10de", "NVIDIA"}, {"0x1002", "AMD"}, {"0x8086", "Intel"}, {"0x1da3", "Habana"}, {"0x1ae0", "Google"}}};

// The classes of pci.ids: 0x03 display controllers, 0x12 processing accelerators.
bool is_accelerator(std::string_view type, std::string_view vendor) {
  if (type.starts_with("0x12")) return true;
  return type.starts_with("0x03") && (vendor == "0x10de" || vendor == "0x1002");
}

std::string vendor_name(const std::string& number) {
  for (const PciVendor& vendor : kVendors)
    if (vendor.number == number) return vendor.name;
  return number;
}

}  // namespace

std::vector<PciAccelerator> read_pci_accelerators(const std::filesystem::path& root) {
  std::vector<PciAccelerator> all;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(root / "sys/bus/pci/devices", ignored)) {
    const std::string vendor = kernel::first_line(entry.path() / "vendor");
    if (!is_accelerator(kernel::first_line(entry.path() / "class"), vendor)) continue;
    PciAccelerator found;
    found.address = entry.path().filename().string();
    found.vendor = vendor_name(vendor);
    found.driver = std::filesystem::read_symlink(entry.path() / "driver", ignored).filename().string();
    const std::string node = kernel::first_line(entry.path() / "numa_node");
    std::from_chars(node.data(), node.data() + node.size(), found.numa_node);
    all.push_back(std::move(found));
  }
  std::ranges::sort(all, [](const auto& a, const auto& b) { return a.address < b.address; });
  return all;
}

}  // namespace unstarve
