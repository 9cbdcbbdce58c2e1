#pragma once
// The first engine that can load a model, for tasks in which the choice does not matter.
//
// Threads: any. Failure: Error(kInput) with the reasons of all engines.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "unstarve/infer/engines/engine_process.h"

namespace unstarve {

// `engine`: of engine_table.h; "auto": all in the order of preference. `program`: path of this program.
[[nodiscard]] std::unique_ptr<EngineProcess> first_engine(const std::string& engine, const std::string& program,
                                                          const std::filesystem::path& model);

// Whether a kernel of CompiledFacts computes in int8.
[[nodiscard]] bool is_int8_kernel(std::string_view kernel);

}  // namespace unstarve
