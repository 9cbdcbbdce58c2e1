#pragma once
// The names of splits in folder and file names. Threads: pure functions.

#include <algorithm>
#include <array>
#include <string_view>

#include "unstarve/storage/bytes/text.h"

namespace unstarve {

inline constexpr std::array<std::string_view, 8> kSplits = {"train", "training", "test",       "testing",
                                                            "val",   "valid",    "validation", "dev"};

// Whether `name` is one of them, in any case.
[[nodiscard]] inline bool is_split_name(std::string_view name) noexcept {
  return std::any_of(kSplits.begin(), kSplits.end(),
                     [&](std::string_view split) { return name.size() == split.size() && ends_in(name, split); });
}

}  // namespace unstarve
