// The build defines UNSTARVE_MODULE_STAMP and UNSTARVE_TORCH_VERSION (cmake/Modules.cmake).

#include "unstarve/infer/engines/libtorch_module.h"

#include <array>

#include "unstarve/core/module_loader.h"

namespace unstarve {

std::unique_ptr<Engine> open_libtorch(const std::filesystem::path& model) {
  static constexpr std::array<const char*, 1> kLibraries = {"torch/lib/libtorch.so"};  // loads all others
  static constexpr Module kModule{"libunstarve_torch.so",
                                  "unstarve_libtorch_module",
                                  UNSTARVE_MODULE_STAMP,
                                  "torch",
                                  UNSTARVE_TORCH_VERSION,
                                  "torch",
                                  kLibraries};
  static const auto& module = *static_cast<const LibtorchModule*>(load_module(kModule, "engine libtorch"));
  return module.open(model.string());
}

}  // namespace unstarve
