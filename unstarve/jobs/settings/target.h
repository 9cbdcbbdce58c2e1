#pragma once
// The consumer of batches: a network that trains on a device, or an emulated accelerator.
//
// Threads: values.

#include <string>

namespace unstarve {

// "cpu", "cuda", "cuda:N" or "emulated:<name>".
struct Target {
  std::string name = "cpu";
  [[nodiscard]] bool emulated() const { return name.starts_with("emulated:"); }
  [[nodiscard]] bool cuda() const { return name.starts_with("cuda"); }
  [[nodiscard]] std::string accelerator() const { return name.substr(9); }
};

// Throws Error(kArgument) with the list of known names.
[[nodiscard]] Target parse_target(const std::string& name);

}  // namespace unstarve
