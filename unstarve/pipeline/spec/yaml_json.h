#pragma once
// Conversion of YAML to JSON, for Python and for --json.
//
// Failure: YAML::ParserException for invalid YAML.

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace unstarve {

// Preserves the order of keys. An unquoted scalar that is a JSON number or Boolean becomes one, any other a string.
// Precondition: `yaml` is in the form that to_yaml() writes.
[[nodiscard]] nlohmann::ordered_json yaml_to_json(const std::string& yaml);

}  // namespace unstarve
