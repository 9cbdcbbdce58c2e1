#pragma once
// The training module: libunstarve_torch.so with torch/, models/ and libtorch. It is loaded when a trainer is first
// needed, so that nothing else waits for libtorch (docs/decisions/0029-torch-module.md).
//
//   program                                   libunstarve_torch.so
//   train/trainer.h ──▶ trainer_module.cpp ──dlopen──▶ unstarve_trainer_module() ──▶ torch/torch_trainer.h ──▶ libtorch
//
// It exports one symbol, unstarve_trainer_module(). Its table starts with a stamp: the version and a digest of the
// shared headers. A module with another stamp is not called. Functions of the table throw Error.
//
// Threads: load_trainer_module() and trainer_module(): any. Ownership: a loaded module is never unloaded.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/error.h"  // used in the interface, therefore part of the stamp
#include "unstarve/train/trainer.h"

namespace unstarve {

struct TrainerModule {
  const char* stamp;  // first member, readable in any module
  std::unique_ptr<Trainer> (*make_trainer)(const TrainSettings& settings);
  // For a GPU: "cuda" or "cuda:N".
  PrecisionSupport (*precision_supported)(const std::string& device, Precision precision);
  LibtorchFacts (*libtorch)();
};

// Possible paths of the module, in the order of search: next to the program (build folder), and the path of
// `cmake --install`.
[[nodiscard]] std::vector<std::filesystem::path> trainer_module_paths();

// Loads the first existing file of `paths`. Throws Error(kMissing) with paths, problem and remedy if no file exists, or
// if the file cannot be loaded (for example without its libtorch), is not a module, or belongs to another build.
[[nodiscard]] const TrainerModule& load_trainer_module(std::span<const std::filesystem::path> paths);

// Throws Error(kArgument) for a name that is not in kModelInfos. Loads nothing.
void check_model(const std::string& name);

// The module of this program, loaded by the first call. Throws as load_trainer_module(), at each call.
[[nodiscard]] const TrainerModule& trainer_module();

}  // namespace unstarve

// The exported symbol of the module.
extern "C" const unstarve::TrainerModule* unstarve_trainer_module() noexcept;
