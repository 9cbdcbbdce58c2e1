#pragma once
// The module that trains: libunstarve_torch.so, all of torch/ and models/ with libtorch behind it, loaded when a
// trainer is first asked for, so that nothing else waits for libtorch (docs/decisions/0029-torch-module.md).
//
//   program                                   libunstarve_torch.so
//   train/trainer.h ──▶ trainer_module.cpp ──dlopen──▶ unstarve_trainer_module() ──▶ torch/torch_trainer.h ──▶ libtorch
//
// It shows one symbol, unstarve_trainer_module(), whose table starts with a stamp: version and a digest of the headers
// that both sides share. A module with another stamp is not called. What a function of the table throws is an Error,
// caught in the program as its own.
//
// Threads: load_trainer_module() and trainer_module(): any. Ownership: a module that was loaded stays to the end.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/error.h"  // what crosses the border, so part of the stamp
#include "unstarve/train/trainer.h"

namespace unstarve {

struct TrainerModule {
  const char* stamp;  // first, so that any module can be asked for it
  std::unique_ptr<Trainer> (*make_trainer)(const TrainSettings& settings);
  // Of a GPU: "cuda" or "cuda:N".
  PrecisionSupport (*precision_supported)(const std::string& device, Precision precision);
  LibtorchFacts (*libtorch)();
};

// Files that may be the module, in the order they are tried: beside the program, as in a build folder, and where
// `cmake --install` puts it.
[[nodiscard]] std::vector<std::filesystem::path> trainer_module_places();

// Loads the first of `places` that is there. Throws Error(kMissing), which names what was looked for, what is wrong
// with what was found and what mends it: no such file, one that cannot be loaded (its libtorch is gone), one that is no
// module, one of another build.
[[nodiscard]] const TrainerModule& load_trainer_module(std::span<const std::filesystem::path> places);

// Throws Error(kArgument) for a name that none of kModelInfos has. Loads nothing.
void check_model(const std::string& name);

// The module of this program, loaded by the first call; throws as load_trainer_module(), again by each call.
[[nodiscard]] const TrainerModule& trainer_module();

}  // namespace unstarve

// What the module shows.
extern "C" const unstarve::TrainerModule* unstarve_trainer_module() noexcept;
