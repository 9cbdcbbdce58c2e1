#pragma once
// What each file adds to the extension module _core.
//
// Precondition: the GIL is held.

#include <nanobind/nanobind.h>

namespace unstarve::python {

// Translates Error to Python exceptions in all bound functions: unstarve.errors has one class per ErrorKind.
void translate_errors();

// first_on_device, decode_balance, decoded_bytes and DeviceOperations
void bind_device_operations(nanobind::module_& m);
// ImageFunction, image_info and encode_jpeg
void bind_functions(nanobind::module_& m);
// operation_parameters: (name, type, required, default, values) of each parameter, for signatures and docstrings
void bind_operation_parameters(nanobind::module_& m);
// SampleSet, choose, labels_of, images_of, Run, RunState and SampleReader
void bind_samples(nanobind::module_& m);
// TrainSettings
void bind_train_settings(nanobind::module_& m);
// TrainPlan and Training
void bind_training(nanobind::module_& m);

}  // namespace unstarve::python
