#pragma once
// Binds Training: the training loop (train/loop.h) on a network, batches and reports of Python.
//
//   Training.run() ──GIL released──▶ run_training() ──GIL──▶ network.forward(), .backward(), .train()
//                                                    ──GIL──▶ source.next(), .state(); validation(); report()
//
// Tensors cross by the operators of torch/foreign_network.h, batches as addresses.
//
// Threads:   run() calls Python in the calling thread only; stop() may be called from any thread.
// Failure:   exceptions of Python end the run and are thrown unchanged.
// Ownership: the objects of a batch are released, with the GIL, when no tensor views their memory.

#include <nanobind/nanobind.h>

namespace unstarve::python {

void bind_training(nanobind::module_& m);

}  // namespace unstarve::python
