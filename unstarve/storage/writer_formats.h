#pragma once
// The formats that `unstarve pack` writes: one constant table. A new format is one file and a row.
//
// Threads: constants and free functions.

#include <string_view>

#include "unstarve/storage/dataset/record_writer.h"

namespace unstarve {

// Throws Error(kArgument), which lists the known names, for an unknown `name`.
[[nodiscard]] const WriterFormat& find_writer_format(std::string_view name);

}  // namespace unstarve
