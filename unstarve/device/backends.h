#pragma once
// The functions that open_device() and report_devices() call. Private to this folder. cuda/ implements those of CUDA;
// cuda_absent.cpp replaces them in builds without CUDA.

#include <memory>

#include "unstarve/device/device.h"

namespace unstarve {

[[nodiscard]] std::unique_ptr<Device> open_host();

// Throws Error(kMissing), naming what is missing: CUDA in the build, the driver or the device.
[[nodiscard]] std::unique_ptr<Device> open_cuda(int index);
// Fills in the CUDA part of the report. Throws only std::bad_alloc.
void report_cuda(DeviceReport& report);

}  // namespace unstarve
