#pragma once
// What is written as YAML, as JSON: for Python and for --json.
//
// Threads: pure. Failure: YAML::ParserException for what is no YAML.

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace unstarve {

// Of YAML as to_yaml() writes it, keys in their order: what is not quoted and reads as a JSON number or truth value is
// one.
[[nodiscard]] nlohmann::ordered_json yaml_to_json(const std::string& yaml);

}  // namespace unstarve
