#pragma once
// The host as a device whose page-locked memory comes of a Python function: of a framework that has a GPU.
//
// Ownership: the device keeps the function, each Memory the object that the function gave with its address.
// Threads:   may be used and destroyed without the GIL, which is taken for the function's calls and references.
// Cost:      its memory does not grow; only a loader's slots are allocated of it.

#include <nanobind/nanobind.h>

#include <memory>

#include "unstarve/device/device.h"

namespace unstarve::python {

// `allocate`: called with a number of bytes, gives (address, owner). What it raises leaves allocate_pinned().
[[nodiscard]] std::unique_ptr<Device> lending_device(nanobind::object allocate);

}  // namespace unstarve::python
