#pragma once
// Operations, decoding and encoding of single images, for the functions of the Python package.
//
// Threads: every call releases the GIL while it works. Each thread has its own memory for intermediate images, which
//          grows with its largest image and is freed at its end; a forked process can continue to use it.

#include <nanobind/nanobind.h>

namespace unstarve::python {

// Adds ImageFunction, image_info and encode_jpeg to _core.
void bind_functions(nanobind::module_& m);

}  // namespace unstarve::python
