// Loads the Arrow module. The build defines UNSTARVE_MODULE_STAMP, UNSTARVE_ARROW_VERSION and the names of the two
// libraries (cmake/Modules.cmake). Compiled alone: fuzz/ replaces this file by a module that is linked.

#include "unstarve/storage/formats/parquet/arrow_module.h"

#include <array>

#include "unstarve/core/module_loader.h"

namespace unstarve {

const ArrowModule& arrow_module(const std::string& operation) {
  static constexpr std::array<const char*, 2> kLibraries = {"pyarrow/" UNSTARVE_ARROW_LIBRARY,
                                                            "pyarrow/" UNSTARVE_PARQUET_LIBRARY};
  static constexpr Module kModule{"libunstarve_arrow.so",
                                  "unstarve_arrow_module",
                                  UNSTARVE_MODULE_STAMP,
                                  "pyarrow",
                                  UNSTARVE_ARROW_VERSION,
                                  "parquet",
                                  kLibraries};
  static const auto& module = *static_cast<const ArrowModule*>(load_module(kModule, operation));
  return module;
}

}  // namespace unstarve
