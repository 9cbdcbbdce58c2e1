#pragma once
// A Python object with __len__ and __getitem__ as a data set: object[i] is an encoded image (bytes, or whatever has a
// buffer of bytes, in one dimension) or pixels (uint8 of height x width x 3), alone or in a pair with its label.
//
// What the first sample is, all have to be. The bytes are copied while the GIL is held; all that comes after it,
// decoding and operations, runs without it.
//
// Threads:  as Dataset; a call of the object takes the GIL and is one of at most `at_once`. Threads that wait for their
//           turn hold nothing.
// Failure:  Error(kInput) with the object's name and index, and the traceback of what it raised.
// Closing:  a loader over it must have ended before the interpreter does, and end_source() been called: the object may
//           lead back to it (loader.py and sources.py see to both).

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve::python {

// Asks for the first sample, or, where the object raises, the next, of a hundred at most. Throws Error(kInput) without
// samples, where none of these can be read, and for one that is neither kind. Precondition: the GIL is held,
// at_once >= 1.
[[nodiscard]] std::shared_ptr<Dataset> python_source(nanobind::object object, std::string name,
                                                     std::vector<std::string> classes, int at_once);

// Lets go of the object of a python_source(), whose reads fail from then on; does nothing to other data sets.
void end_source(Dataset& source);

// Whether this thread is in a call of such an object.
[[nodiscard]] bool in_python_source();

}  // namespace unstarve::python
