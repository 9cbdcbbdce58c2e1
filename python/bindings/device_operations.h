#pragma once
// Operations on a device over memory that a framework owns.

#include <nanobind/nanobind.h>

namespace unstarve::python {

// _core's first_on_device, DeviceOperations.
void bind_device_operations(nanobind::module_& m);

}  // namespace unstarve::python
