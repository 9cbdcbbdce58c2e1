// The one symbol of libunstarve_openvino.so. The build defines UNSTARVE_MODULE_STAMP (cmake/Modules.cmake).

#include "unstarve/infer/engines/openvino_module.h"

const unstarve::OpenVinoModule* unstarve_openvino_module() noexcept {
  static constexpr unstarve::OpenVinoModule kModule{UNSTARVE_MODULE_STAMP, unstarve::make_openvino_engine};
  return &kModule;
}
