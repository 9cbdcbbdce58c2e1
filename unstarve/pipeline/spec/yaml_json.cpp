#include "unstarve/pipeline/spec/yaml_json.h"

#include <yaml-cpp/yaml.h>
#include <nlohmann/json.hpp>

#include "unstarve/core/json.h"

namespace unstarve {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const YAML::Node& node) {
  if (node.IsMap()) {
    Json map = Json::object();
    for (const auto& entry : node) map[entry.first.Scalar()] = json_of(entry.second);
    return map;
  }
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const auto& entry : node) list.push_back(json_of(entry));
    return list;
  }
  constexpr const char* kQuoted = "!";
  if (node.Tag() != kQuoted && Json::accept(node.Scalar())) return parse_ordered_json(node.Scalar());
  return node.Scalar();
}

}  // namespace

nlohmann::ordered_json yaml_to_json(const std::string& yaml) { return json_of(YAML::Load(yaml)); }

}  // namespace unstarve
