#pragma once
// train/trainer.h by libtorch. Nothing here shows libtorch; the program calls it through train/trainer_module.h.
//
// Threads, failure: as trainer.h says of each.

#include <memory>
#include <string>

#include "unstarve/train/trainer.h"

namespace unstarve {

// Precondition: check_settings() and check_model() hold of them, as make_trainer() sees to.
[[nodiscard]] std::unique_ptr<Trainer> make_torch_trainer(const TrainSettings& settings);
// "cuda" or "cuda:N".
[[nodiscard]] PrecisionSupport gpu_precision(const std::string& device, Precision precision);
[[nodiscard]] LibtorchFacts torch_facts();

}  // namespace unstarve
