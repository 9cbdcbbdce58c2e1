#pragma once
// Resolves classes given by name, or by number if no class has that name.

#include <cstdint>
#include <string>
#include <vector>

namespace unstarve {

// Class numbers in ascending order without duplicates. Throws Error(kArgument), beginning with `node`, for an unknown
// class. A dataset without class names accepts any number.
[[nodiscard]] std::vector<std::int64_t> class_numbers(const std::vector<std::string>& labels,
                                                      const std::vector<std::string>& classes, const std::string& node);

}  // namespace unstarve
