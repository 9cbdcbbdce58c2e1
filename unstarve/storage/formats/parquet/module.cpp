// The one symbol of libunstarve_arrow.so. The build defines UNSTARVE_MODULE_STAMP (cmake/Modules.cmake).

#include "unstarve/storage/formats/parquet/arrow_module.h"

const unstarve::ArrowModule* unstarve_arrow_module() noexcept {
  static constexpr unstarve::ArrowModule kModule{UNSTARVE_MODULE_STAMP,      unstarve::open_arrow_file,
                                                 unstarve::open_arrow_ipc,   unstarve::make_arrow_writer,
                                                 unstarve::make_arrow_table, unstarve::linked_arrow_version};
  return &kModule;
}
