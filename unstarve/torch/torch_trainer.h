#pragma once
// Implements train/trainer.h with libtorch. The program calls it through train/trainer_module.h. No libtorch header is
// included.
//
// Threads, failure: see trainer.h.

#include <memory>
#include <string>

#include "unstarve/train/trainer.h"

namespace unstarve {

class StepRecorder;  // step_recorder.h

// `network`: null for a network of the zoo or of `start`. Precondition: settings that make_trainer() accepts.
[[nodiscard]] std::unique_ptr<Trainer> make_torch_trainer(const TrainSettings& settings, const ForeignNetwork* network,
                                                          const Ranks& ranks, const StartingFile& start = {});
// For tests: a trainer whose steps are recorded by `recorder`, on any device. `network`: as above.
[[nodiscard]] std::unique_ptr<Trainer> make_recorded_trainer(const TrainSettings& settings,
                                                             std::unique_ptr<StepRecorder> recorder,
                                                             const ForeignNetwork* network = nullptr);
// Registers the operators of foreign_network.h with libtorch; later calls do nothing.
void register_operators();
// "cuda" or "cuda:N".
[[nodiscard]] PrecisionSupport libtorch_precision(const std::string& device, Precision precision);
[[nodiscard]] LibtorchFacts torch_facts();

}  // namespace unstarve
