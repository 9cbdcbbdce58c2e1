#include "unstarve/diagnose/cupti/cuda_devices.h"

#include <dlfcn.h>

#include <algorithm>

#include "unstarve/core/library_function.h"

namespace unstarve {
namespace {

constexpr int kDriverSuccess = 0, kCapabilityMajor = 75, kCapabilityMinor = 76;  // CU_DEVICE_ATTRIBUTE_...
constexpr int kMostDevices = 64;

// Functions of libcuda.so.1; `device` is what cuDeviceGet() returns.
struct Driver {
  int (*count)(int* devices) = nullptr;
  int (*device)(int* device, int number) = nullptr;
  int (*name)(char* text, int size, int device) = nullptr;
  int (*address)(char* text, int size, int device) = nullptr;
  int (*attribute)(int* value, int attribute, int device) = nullptr;
  int (*memory)(std::size_t* bytes, int device) = nullptr;

  [[nodiscard]] bool complete() const { return count && device && name && address && attribute && memory; }
};

Driver loaded_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);  // never closed
  if (library == nullptr) library = RTLD_DEFAULT;                  // tests
  Driver driver;
  look_up(library, "cuDeviceGetCount", driver.count);
  look_up(library, "cuDeviceGet", driver.device);
  look_up(library, "cuDeviceGetName", driver.name);
  look_up(library, "cuDeviceGetPCIBusId", driver.address);
  look_up(library, "cuDeviceGetAttribute", driver.attribute);
  look_up(library, "cuDeviceTotalMem_v2", driver.memory);
  return driver;
}

}  // namespace

std::vector<std::pair<KernelLogEntry, std::string>> cuda_devices() {
  const Driver driver = loaded_driver();
  int devices = 0;
  std::vector<std::pair<KernelLogEntry, std::string>> found;
  if (!driver.complete() || driver.count(&devices) != kDriverSuccess) return found;
  for (int number = 0; number < std::min(devices, kMostDevices); ++number) {
    int device = 0, major = 0, minor = 0;
    std::size_t bytes = 0;
    char name[256] = {}, address[32] = {};
    if (driver.device(&device, number) != kDriverSuccess ||
        driver.name(name, sizeof name - 1, device) != kDriverSuccess ||
        driver.address(address, sizeof address - 1, device) != kDriverSuccess ||
        driver.attribute(&major, kCapabilityMajor, device) != kDriverSuccess ||
        driver.attribute(&minor, kCapabilityMinor, device) != kDriverSuccess ||
        driver.memory(&bytes, device) != kDriverSuccess)
      continue;
    KernelLogEntry entry;
    entry.kind = KernelLogKind::kDevice;
    entry.device = static_cast<std::uint8_t>(number);
    entry.detail = static_cast<std::uint8_t>(10 * major + minor);
    entry.lane = bytes;
    found.emplace_back(entry, std::string(address) + " " + name);
  }
  return found;
}

}  // namespace unstarve
