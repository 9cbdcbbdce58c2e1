#pragma once
// Binds TrainSettings: created from keyword arguments, which are the flags of `unstarve train` without dashes:
// --weight-decay is weight_decay (train/settings_fields.h).
//
// Precondition: the GIL is held. Failure: Error(kArgument) with the argument, what was found and what was expected.

#include <nanobind/nanobind.h>

namespace unstarve::python {

void bind_train_settings(nanobind::module_& m);

}  // namespace unstarve::python
