// The build defines UNSTARVE_MODULE_STAMP and UNSTARVE_TORCH_VERSION (cmake/Modules.cmake).

#include "unstarve/infer/import/torch_import.h"

#include <array>

#include "unstarve/core/module_loader.h"

namespace unstarve::infer {

const ImporterModule& importer_module() {
  static constexpr std::array<const char*, 1> kLibraries = {"torch/lib/libtorch.so"};  // loads all others
  static constexpr Module kModule{"libunstarve_torch.so",
                                  "unstarve_importer_module",
                                  UNSTARVE_MODULE_STAMP,
                                  "torch",
                                  UNSTARVE_TORCH_VERSION,
                                  "torch",
                                  kLibraries};
  static const auto& module = *static_cast<const ImporterModule*>(load_module(kModule, "import"));
  return module;
}

}  // namespace unstarve::infer
