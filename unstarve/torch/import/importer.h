#pragma once
// Implements infer/import/import_module.h with libtorch: networks of the zoo are traced, files are loaded and frozen;
// both become a graph by script_graph.h. No libtorch header is included.
//
// Threads: any.
// Failure: Error(kInput) with the path, Error(kArgument) for options that do not apply; others as import_module.h.

#include "unstarve/infer/import/import_module.h"

namespace unstarve::infer {

[[nodiscard]] Graph import_network(const NetworkFile& file);
[[nodiscard]] Graph import_script(const ScriptFile& file);
// Seeds libtorch's default generator.
[[nodiscard]] Graph random_network(const RandomNetwork& network);

}  // namespace unstarve::infer
