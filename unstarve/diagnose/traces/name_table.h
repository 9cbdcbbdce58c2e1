#pragma once
// Numbers for texts, from 0 on in the order in which they come.
//
// Threads: one. Failure: only std::bad_alloc.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace unstarve {

class NameTable {
 public:
  // The number of `name`, a new one if it is not known.
  [[nodiscard]] std::uint32_t id(std::string_view name) {
    if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
    names_.emplace_back(name);
    return ids_[std::string(name)] = static_cast<std::uint32_t>(names_.size() - 1);
  }
  [[nodiscard]] const std::string& name(std::uint32_t id) const { return names_[id]; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_;
};

}  // namespace unstarve
