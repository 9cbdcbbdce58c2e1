// The engine libtorch in a build without libtorch.
#include "unstarve/infer/engines/libtorch_module.h"

namespace unstarve {

std::unique_ptr<Engine> open_libtorch(const std::filesystem::path&) {
  throw Error(ErrorKind::kMissing,
              "engine libtorch: this build has no libtorch; expected a build with libtorch. Install the wheel of `make "
              "wheel`, or build with -DUNSTARVE_TORCH=ON after `make setup`, which installs torch");
}

}  // namespace unstarve
