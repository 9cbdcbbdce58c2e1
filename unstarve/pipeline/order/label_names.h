#pragma once
// Classes as users write them: by name, or by number where no class has that name.

#include <cstdint>
#include <string>
#include <vector>

namespace unstarve {

// Ascending, each once. Throws Error(kArgument) about `node` for what is neither a name nor a number of a class; data
// without class names take any number.
[[nodiscard]] std::vector<std::int64_t> class_numbers(const std::vector<std::string>& labels,
                                                      const std::vector<std::string>& classes, const std::string& node);

}  // namespace unstarve
