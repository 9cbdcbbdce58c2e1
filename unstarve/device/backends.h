#pragma once
// What each kind of device implements, and nothing else includes: open_device() and report_devices() are made of these.
// cuda/ implements the CUDA half; cuda_absent.cpp stands in for it in a build without CUDA.

#include <memory>

#include "unstarve/device/device.h"

namespace unstarve {

[[nodiscard]] std::unique_ptr<Device> open_host();

// Throws Error(kMissing) when the build, the driver or the device is not there; the message says which.
[[nodiscard]] std::unique_ptr<Device> open_cuda(int index);
// Fills in what CUDA has to say; never throws but std::bad_alloc.
void report_cuda(DeviceReport& report);

}  // namespace unstarve
