#pragma once
// The host as a device whose page-locked memory is allocated by a Python function, for a framework with a GPU.
//
// Ownership: the device owns the function, each Memory the object that the function returned with its address.
// Threads:   may be used and destroyed without the GIL, which is acquired for calls and references of Python objects.
// Cost:      its memory does not grow; only the batch slots of a loader are allocated from it.

#include <nanobind/nanobind.h>

#include <memory>

#include "unstarve/device/device.h"

namespace unstarve::python {

// `allocate` maps a number of bytes to (address, owner). allocate_pinned() throws its exceptions.
[[nodiscard]] std::unique_ptr<Device> lending_device(nanobind::object allocate);

}  // namespace unstarve::python
