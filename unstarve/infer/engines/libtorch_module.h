#pragma once
// The engine libtorch: the float32 reference of the other engines, in libunstarve_torch.so, which has another entry for
// it than for training (train/trainer_module.h) and for the importer (infer/import/import_module.h).
//
// Threads: any. Failure: Error(kMissing) at each call that cannot load the module, and in a build without libtorch; as
//          Engine.

#include <filesystem>
#include <memory>
#include <string>

#include "unstarve/infer/engines/engine.h"

namespace unstarve {

struct LibtorchModule {
  const char* stamp;  // first member, readable in any module
  std::unique_ptr<Engine> (*open)(const std::string& model);
};

[[nodiscard]] std::unique_ptr<Engine> open_libtorch(const std::filesystem::path& model);

}  // namespace unstarve

// An exported symbol of the module.
extern "C" const unstarve::LibtorchModule* unstarve_libtorch_module() noexcept;
