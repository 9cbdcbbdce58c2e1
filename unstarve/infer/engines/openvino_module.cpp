// Loads the OpenVINO module. The build defines UNSTARVE_MODULE_STAMP, UNSTARVE_OPENVINO_VERSION and the names of the
// libraries (cmake/Modules.cmake).

#include "unstarve/infer/engines/openvino_module.h"

#include <array>

#include "unstarve/core/module_loader.h"

namespace unstarve {

std::unique_ptr<Engine> open_openvino(const std::filesystem::path& model) {
  static constexpr std::array<const char*, 2> kLibraries = {"openvino/libs/" UNSTARVE_OPENVINO_TBB,
                                                            "openvino/libs/" UNSTARVE_OPENVINO_LIBRARY};
  static constexpr Module kModule{"libunstarve_openvino.so",
                                  "unstarve_openvino_module",
                                  UNSTARVE_MODULE_STAMP,
                                  "openvino",
                                  UNSTARVE_OPENVINO_VERSION,
                                  "infer",
                                  kLibraries};
  static const auto& module = *static_cast<const OpenVinoModule*>(load_module(kModule, "engine openvino"));
  return module.open(model.string());
}

}  // namespace unstarve
