#pragma once
// The importer of the loaded module (import_module.h).

#include "unstarve/infer/import/import_module.h"

namespace unstarve::infer {

// Throws Error(kMissing), as load_module(), at each call that fails, and in a build without libtorch.
[[nodiscard]] const ImporterModule& importer_module();

}  // namespace unstarve::infer
