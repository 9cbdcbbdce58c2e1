#pragma once
// JSON as Python's json module writes it: also with NaN, Infinity and -Infinity, which are not JSON. They become null.
//
// Threads: a pure function.

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace unstarve {

// Returns a value with is_discarded() if the text is not JSON.
[[nodiscard]] nlohmann::json try_parse_python_json(std::string_view text);

}  // namespace unstarve
