#pragma once
// The networks by name: one constant table. A new one is one factory and one row.
//
// Nothing here shows libtorch; who makes a network includes models/layers.h.

#include <memory>
#include <span>
#include <string_view>

namespace unstarve {

class Network;

struct ModelEntry {
  std::string_view name;
  int image_size;  // what it was designed for; others work where its strides allow
  std::string_view help;
  std::shared_ptr<Network> (*make)(int classes);  // weights from the default generator: seed it before
};

[[nodiscard]] std::span<const ModelEntry> model_table();
// Throws Error(kArgument) that lists the known names.
[[nodiscard]] const ModelEntry& find_model(std::string_view name);

}  // namespace unstarve
