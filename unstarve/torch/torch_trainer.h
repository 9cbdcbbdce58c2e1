#pragma once
// Implements train/trainer.h with libtorch. The program calls it through train/trainer_module.h. No libtorch header is
// included.
//
// Threads, failure: see trainer.h.

#include <memory>
#include <string>

#include "unstarve/train/trainer.h"

namespace unstarve {

// Precondition: settings that make_trainer() accepts.
[[nodiscard]] std::unique_ptr<Trainer> make_torch_trainer(const TrainSettings& settings, const Ranks& ranks);
// "cuda" or "cuda:N".
[[nodiscard]] PrecisionSupport gpu_precision(const std::string& device, Precision precision);
[[nodiscard]] LibtorchFacts torch_facts();

}  // namespace unstarve
