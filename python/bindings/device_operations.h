#pragma once
// Operations on a device in memory that a framework owns.

#include <nanobind/nanobind.h>

namespace unstarve::python {

// Adds first_on_device, decode_balance, decoded_bytes and DeviceOperations to _core.
void bind_device_operations(nanobind::module_& m);

}  // namespace unstarve::python
