#pragma once
// The training module: libunstarve_torch.so with torch/, models/ and libtorch. It is loaded when a trainer is first
// needed (core/module_loader.h), so that nothing else waits for libtorch.
//
//   program                                   libunstarve_torch.so
//   train/trainer.h ──▶ trainer_module.cpp ──dlopen──▶ unstarve_trainer_module() ──▶ torch/torch_trainer.h ──▶ libtorch
//
// It exports one symbol, unstarve_trainer_module(). Its table starts with a stamp: the version and a digest of the
// shared headers. A module with another stamp is not called. Functions of the table throw Error.
//
// Threads: any.

#include <memory>
#include <string>

#include "unstarve/core/error.h"  // used in the interface, therefore part of the stamp
#include "unstarve/train/trainer.h"

namespace unstarve {

struct TrainerModule {
  const char* stamp;  // first member, readable in any module
  // `network`: null for a network of the zoo or of a file.
  std::unique_ptr<Trainer> (*make_trainer)(const TrainSettings& settings, const ForeignNetwork* network,
                                           const Ranks& ranks, const StartingFile& start);
  void (*register_network_operators)();
  // For a GPU: "cuda" or "cuda:N".
  PrecisionSupport (*precision_supported)(const std::string& device, Precision precision);
  LibtorchFacts (*libtorch)();
};

// The module, loaded by the first call. Throws Error(kMissing), as load_module(), at each call that fails.
[[nodiscard]] const TrainerModule& trainer_module();

}  // namespace unstarve

// The exported symbol of the module.
extern "C" const unstarve::TrainerModule* unstarve_trainer_module() noexcept;
