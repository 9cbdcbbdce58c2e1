#pragma once
// The table of networks. To add a network: a factory, a row here and a row in models/catalogue.h.
//
// No libtorch header is included; code that creates a network includes models/layers.h.

#include <memory>
#include <string_view>

#include "unstarve/models/catalogue.h"

namespace unstarve {

class Network;

struct ModelEntry : ModelInfo {
  std::shared_ptr<Network> (*factory)(int classes, double width);
  double width = 1;  // multiplier of the channels

  // Weights from the default generator; seed it first.
  [[nodiscard]] std::shared_ptr<Network> make(int classes) const { return factory(classes, width); }
};

// Accepts names with a width multiplier. Throws Error(kArgument) with the known names.
[[nodiscard]] ModelEntry find_model(std::string_view name);

}  // namespace unstarve
