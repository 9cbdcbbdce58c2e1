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
// TensorRT by ONNX Runtime, which reads signed int8 only (Int8Form in infer/int8/quantise.h). It has never run, so that
// "auto" leaves it out, too.
inline constexpr const char* kGpuEngine = "tensorrt";

// Whether the engine computes in bfloat16 on a CPU that has it.
[[nodiscard]] bool has_bfloat16(std::string_view engine);
// `settings` with one stream, or in float32, if the engine has no others.
[[nodiscard]] EngineSettings supported_by(std::string_view engine, EngineSettings settings);

// In the order of preference, the reference last. `program`: path of this program, for engines that it runs.
[[nodiscard]] std::vector<EngineCommand> engine_commands(const std::string& program);
// The engine of this name; for "auto" all but kReferenceEngine and kGpuEngine.
[[nodiscard]] std::vector<EngineCommand> engines_named(const std::string& name, const std::string& program);

// Text of onnxruntime_server.py; the build generates it.
[[nodiscard]] std::string_view onnxruntime_server();

}  // namespace unstarve
