// The Arrow module as a part of the program; replaces storage/formats/parquet/arrow_module.cpp.
#include "unstarve/storage/formats/parquet/arrow_module.h"

namespace unstarve {

const ArrowModule& arrow_module(const std::string&) { return *unstarve_arrow_module(); }

}  // namespace unstarve
