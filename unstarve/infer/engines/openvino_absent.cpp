// The engine openvino in a build without OpenVINO.
#include "unstarve/infer/engines/openvino_module.h"

namespace unstarve {

std::unique_ptr<Engine> open_openvino(const std::filesystem::path&) {
  throw Error(ErrorKind::kMissing,
              "engine openvino: this build has no OpenVINO; expected a build with OpenVINO. Install the wheel of `make "
              "wheel`, or build with -DUNSTARVE_OPENVINO=ON after `make setup`, which installs openvino");
}

}  // namespace unstarve
