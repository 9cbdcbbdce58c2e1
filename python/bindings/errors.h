#pragma once
// Translates Error to Python exceptions: unstarve.errors has one class per ErrorKind.
//
// Precondition: the GIL is held.

#include <nanobind/nanobind.h>

namespace unstarve::python {

// Registers the translator for all bound functions.
void translate_errors();

}  // namespace unstarve::python
