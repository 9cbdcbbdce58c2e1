#pragma once
// A Python object with __len__ and __getitem__ as a dataset. object[i] is an encoded image (bytes, or a one-dimensional
// buffer of bytes) or pixels (uint8, height x width x 3), alone or in a pair with its label.
//
// All samples must have the form of the first one. The bytes are copied while the GIL is held; decoding and operations
// run without it.
//
// Threads:  as Dataset. A call of the object acquires the GIL; up to `concurrency` calls run at the same time. Threads
//           that wait for their turn hold no lock.
// Failure:  Error(kInput) with the object's name and index, and the traceback of its exception.
// Closing:  before the interpreter exits, loaders over it must be closed and end_source() be called, because the object
//           may refer back to it (base_loader.py and sources.py do both).

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "unstarve/storage/dataset/dataset.h"

namespace unstarve::python {

// Reads the first sample that the object returns, of up to 100. Throws Error(kInput) if there is none, or if it has
// another form. `labelled`: whether to read labels, otherwise those of pairs are ignored. Preconditions: the GIL is
// held, concurrency >= 1.
[[nodiscard]] std::shared_ptr<Dataset> python_source(nanobind::object object, std::string name,
                                                     std::vector<std::string> classes, int concurrency, bool labelled);

// Releases the object of a python_source(), whose reads then fail, and waits for reads in progress. Ignores other
// datasets.
void end_source(Dataset& source);

// Returns whether this thread is in a call of such an object.
[[nodiscard]] bool in_python_source();

}  // namespace unstarve::python
