#pragma once
// The OpenVINO module: libunstarve_openvino.so with openvino_engine.cpp. It is loaded when a model is opened
// (core/module_loader.h), so that nothing else requires the package openvino.
//
// C++ types cross the boundary: the engine of the module is called by the program.
//
// Threads: any. Failure: Error(kMissing) at each call that cannot load the module; and as Engine.

#include <filesystem>
#include <memory>
#include <string>

#include "unstarve/infer/engines/engine.h"

namespace unstarve {

struct OpenVinoModule {
  const char* stamp;  // first member, readable in any module
  std::unique_ptr<Engine> (*open)(const std::string& model);
};

[[nodiscard]] std::unique_ptr<Engine> open_openvino(const std::filesystem::path& model);

// In the module.
[[nodiscard]] std::unique_ptr<Engine> make_openvino_engine(const std::string& model);

}  // namespace unstarve

// The exported symbol of the module.
extern "C" const unstarve::OpenVinoModule* unstarve_openvino_module() noexcept;
