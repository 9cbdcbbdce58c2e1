#pragma once
// The networks by name: one constant table. A new one is one factory, one row here and one in models/catalogue.h.
//
// Nothing here shows libtorch; who makes a network includes models/layers.h.

#include <memory>
#include <span>
#include <string_view>

#include "unstarve/models/catalogue.h"

namespace unstarve {

class Network;

struct ModelEntry : ModelInfo {
  std::shared_ptr<Network> (*make)(int classes);  // weights from the default generator: seed it before
};

[[nodiscard]] std::span<const ModelEntry> model_table();
// Throws Error(kArgument) that lists the known names.
[[nodiscard]] const ModelEntry& find_model(std::string_view name);

}  // namespace unstarve
