#pragma once
// What to do about a finding: one text for any program, and exact ones for the libraries that differ.
//
// Threads: pure functions. Failure: none.

#include <string>
#include <utility>
#include <vector>

#include "unstarve/diagnose/profile/libraries.h"

namespace unstarve {

struct Changes {
  std::string general{};                                   // empty: there is a text for each framework
  std::string pytorch{}, tensorflow{}, jax{}, unstarve{};  // empty: the general text

  // The exact texts: ("pytorch", text), ...
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> by_library() const;
  // Adds "; " and the text of `more` for the same library, or its general one, to each text.
  void add(const Changes& more);
};

// The text for the libraries that are used, with their names if there are several; the general one if none is known.
[[nodiscard]] std::string change_for(const UsedLibraries& used, const Changes& changes);

}  // namespace unstarve
