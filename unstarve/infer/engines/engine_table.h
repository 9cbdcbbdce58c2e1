#pragma once
// The engines, by name: a row of the table for each.
//
// Threads: any. Failure: Error(kArgument) for an unknown name.

#include <string>
#include <string_view>
#include <vector>

#include "unstarve/infer/engines/engine_process.h"

namespace unstarve {

// libtorch computes what a training program would. The other engines are faster, so "auto" leaves it out.
inline constexpr const char* kReferenceEngine = "libtorch";

// In the order of preference, the reference last. `program`: path of this program, for engines that it runs.
[[nodiscard]] std::vector<EngineCommand> engine_commands(const std::string& program);
// The engine of this name; all but the reference for "auto".
[[nodiscard]] std::vector<EngineCommand> engines_named(const std::string& name, const std::string& program);

// Text of onnxruntime_server.py; the build generates it.
[[nodiscard]] std::string_view onnxruntime_server();

}  // namespace unstarve
