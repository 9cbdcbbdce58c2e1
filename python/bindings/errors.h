#pragma once
// The library's Error as Python exceptions: unstarve.errors, one class per ErrorKind.
//
// Threads: to be called with the GIL held.

#include <nanobind/nanobind.h>

namespace unstarve::python {

// From now on every Error that leaves a bound function becomes the exception of its kind.
void translate_errors();

}  // namespace unstarve::python
