#pragma once
// The GPUs and other accelerators on the PCI bus, with or without a driver.
//
// Source:  <root>/sys/bus/pci/devices (Documentation/ABI/testing/sysfs-bus-pci of Linux).
// Failure: never throws except std::bad_alloc; a value that cannot be read is empty.

#include <filesystem>
#include <string>
#include <vector>

namespace unstarve {

struct PciAccelerator {
  std::string address;  // "0000:41:00.0"
  std::string vendor;   // "NVIDIA", "AMD", "Intel", ... or the number, "0x1da3"
  std::string driver;   // of the kernel, "nvidia", "amdgpu", "vfio-pci"; empty: none is bound
  int numa_node = -1;   // -1: the machine does not report it, or has one node
};

// In the order of their addresses: processing accelerators of any vendor; display controllers of AMD and NVIDIA only,
// as others belong to the management processor of a server or to the CPU.
[[nodiscard]] std::vector<PciAccelerator> read_pci_accelerators(const std::filesystem::path& root);

}  // namespace unstarve
