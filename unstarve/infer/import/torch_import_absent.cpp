#include "unstarve/core/error.h"
#include "unstarve/infer/import/torch_import.h"

namespace unstarve::infer {

const ImporterModule& importer_module() {
  throw Error(ErrorKind::kMissing,
              "import: this build has no libtorch, which reads this format; expected an ONNX file, or a build with "
              "libtorch. Install the wheel of `make wheel`, or build with -DUNSTARVE_TORCH=ON after `make setup`");
}

}  // namespace unstarve::infer
