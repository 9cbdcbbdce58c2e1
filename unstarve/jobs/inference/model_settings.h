#pragma once
// settings.json, which compress writes next to a model: the fastest engine and its settings on the machine of compress.
//
// `infer` uses the file if it has the checksum of the model. What was measured on another number of CPUs is measured
// again. Options of the user win.
//
// Threads: any. Failure: Error(kInput) "read '<file>': ..." for a file of this model with wrong values.

#include <filesystem>
#include <optional>
#include <string>

#include "unstarve/infer/engines/engine.h"

namespace unstarve {

struct ModelSettings {
  std::filesystem::path file;
  std::string engine;
  int cpus = 1;               // usable ones on the machine of compress
  EngineSettings throughput;  // with most samples/s
};

inline constexpr const char* kModelSettingsFile = "settings.json";

// Of the file next to the model. Nothing if there is none, or none of this model; then a notice if it is of another
// version of it.
[[nodiscard]] std::optional<ModelSettings> settings_next_to(const std::filesystem::path& model);

}  // namespace unstarve
