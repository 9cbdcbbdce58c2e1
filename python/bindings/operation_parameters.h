#pragma once
// The parameters of an operation as Python declares them, for signatures and docstrings.

#include <nanobind/nanobind.h>

namespace unstarve::python {

// Adds operation_parameters to _core: (name, type, required, default, values) of each parameter.
void bind_operation_parameters(nanobind::module_& m);

}  // namespace unstarve::python
