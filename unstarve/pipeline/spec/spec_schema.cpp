#include "unstarve/pipeline/spec/spec_schema.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/batch/batch_operation.h"
#include "unstarve/ops/operations.h"
#include "unstarve/pipeline/spec/pass_switches.h"
#include "unstarve/pipeline/spec/spec_fields.h"
#include "unstarve/pipeline/spec/spec_yaml.h"
#include "unstarve/pipeline/spec/yaml_map.h"

namespace unstarve {
namespace {

using Json = nlohmann::ordered_json;

Json object(Json properties) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

Json parameter_schema(const ParameterInfo& info) {
  const auto make = [](const auto& kind) -> Json {
    using Kind = std::decay_t<decltype(kind)>;
    if constexpr (std::is_same_v<Kind, ParameterInfo::Integer>) {
      return {{"type", "integer"}, {"minimum", kind.low}, {"maximum", kind.high}, {"default", kind.fallback}};
    } else if constexpr (std::is_same_v<Kind, ParameterInfo::Number>) {
      return {{"type", "number"}, {"minimum", kind.low}, {"maximum", kind.high}, {"default", kind.fallback}};
    } else if constexpr (std::is_same_v<Kind, ParameterInfo::Range>) {
      const Json number = {{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", kind.high}};
      return {{"type", "array"},
              {"items", number},
              {"minItems", 2},
              {"maxItems", 2},
              {"default", {kind.fallback.first, kind.fallback.second}}};
    } else if constexpr (std::is_same_v<Kind, ParameterInfo::Interval>) {
      const Json number = {{"type", "number"}, {"minimum", kind.low}, {"maximum", kind.high}};
      return {{"anyOf", {number, {{"type", "array"}, {"items", number}, {"minItems", 2}, {"maxItems", 2}}}},
              {"description", "a number, or [minimum, maximum]"},
              {"default", {kind.fallback.first, kind.fallback.second}}};
    } else if constexpr (std::is_same_v<Kind, ParameterInfo::Integers>) {
      const Json number = {{"type", "integer"}, {"minimum", kind.low}, {"maximum", kind.high}};
      Json any = Json::array();
      for (const std::size_t count : kind.counts)
        any.push_back(
            count == 1 ? number : Json{{"type", "array"}, {"items", number}, {"minItems", count}, {"maxItems", count}});
      if (!kind.words.empty()) any.push_back({{"type", "string"}, {"enum", kind.words}});
      Json fallback = kind.fallback;
      if (kind.fallback.size() == 1) fallback = kind.fallback[0];
      if (kind.fallback.empty()) fallback = kind.words.front();
      return {{"anyOf", std::move(any)}, {"default", std::move(fallback)}};
    } else if constexpr (std::is_same_v<Kind, ParameterInfo::Choice>) {
      return {{"type", "string"}, {"enum", kind.words}, {"default", kind.fallback}};
    } else if constexpr (std::is_same_v<Kind, ParameterInfo::Flag>) {
      return {{"type", "boolean"}, {"default", kind.fallback}};
    } else {
      const Json side = {{"type", "integer"}, {"minimum", kind.low}, {"maximum", kind.high}};
      return {{"anyOf", {side, {{"type", "array"}, {"items", side}, {"minItems", 2}, {"maxItems", 2}}}},
              {"description", "one side, or [height, width], in pixels"}};
    }
  };
  return std::visit(make, info.kind);
}

// Numeric parameters also accept a schedule: values by epoch (ops/schedule.h).
Json with_schedule(Json value) {
  if (value.contains("enum") || value.value("type", "") == "boolean") return value;
  Json plain = value;
  plain.erase("default");
  if (plain.contains("anyOf") && plain["anyOf"].back().contains("enum"))
    plain["anyOf"].erase(plain["anyOf"].size() - 1);
  Json points = object({{"0", plain}});
  points["patternProperties"] = {{"^[1-9][0-9]*$", plain}};
  points["required"] = {"0"};
  Json schedule = object({{"schedule", std::move(points)},
                          {"between", {{"type", "string"}, {"enum", {"steps", "linear"}}, {"default", "steps"}}},
                          {"multiple", {{"type", "number"}, {"minimum", 0}, {"default", 0}}}});
  schedule["required"] = {"schedule"};
  schedule["description"] = "values by epoch";
  Json both = {{"anyOf", {std::move(value), std::move(schedule)}}};
  return both;
}

// A list of operations: "- name: {parameter: value}", or "- name" where nothing is required.
template <class List>
Json operations_schema(const List& known, const char* description) {
  Json bare = Json::array(), properties = Json::object();
  for (const auto& info : known) {
    const DescribedParameters described(info.name);
    (void)info.make({});
    Json parameters = Json::object(), required = Json::array();
    for (const ParameterInfo& parameter : described.list()) {
      parameters[parameter.name] = with_schedule(parameter_schema(parameter));
      if (parameter.required) required.push_back(parameter.name);
    }
    Json operation = object(std::move(parameters));
    operation["description"] = info.help;
    if (required.empty()) {
      bare.push_back(info.name);
      operation["type"] = {"object", "null"};
    } else {
      operation["required"] = std::move(required);
    }
    properties[std::string(info.name)] = std::move(operation);
  }
  Json full = object(std::move(properties));
  full["minProperties"] = full["maxProperties"] = 1;
  return {{"type", "array"},
          {"items", {{"anyOf", {{{"type", "string"}, {"enum", std::move(bare)}}, std::move(full)}}}},
          {"default", Json::array()},
          {"description", description}};
}

Json field_schema(const YamlKey& key, const SpecField& field) {
  Json schema;
  const auto type = [&](const auto& value) {
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::string>) {
      schema["type"] = "string";
      if (!key.choices.empty()) schema["enum"] = key.choices;
      if (field.pattern != nullptr) schema["pattern"] = field.pattern;
    } else if constexpr (std::is_same_v<Value, bool>) {
      schema["type"] = "boolean";
    } else if constexpr (std::is_same_v<Value, int> || std::is_same_v<Value, std::uint64_t>) {
      schema["type"] = "integer";
      schema["minimum"] = std::numeric_limits<Value>::min();
      schema["maximum"] = std::numeric_limits<Value>::max();
    } else if constexpr (std::is_same_v<Value, double>) {
      schema["type"] = "number";
    } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
      schema["type"] = "array";
      schema["items"] = {{"type", {"string", "integer", "number", "boolean"}}};
    } else if constexpr (std::is_same_v<Value, std::vector<double>>) {
      schema["type"] = "array";
      schema["items"] = {{"type", field.whole ? "integer" : "number"}};
      if (key.count != 0) schema["minItems"] = schema["maxItems"] = key.count;
    }
    if constexpr (!std::is_same_v<Value, YamlKey::Mapping> && !std::is_same_v<Value, YamlKey::NamedList> &&
                  !std::is_same_v<Value, YamlKey::MapList>)
      if (!key.optional) schema["default"] = value;
  };
  std::visit(type, key.value);
  Json& limited = schema.contains("items") ? schema["items"] : schema;
  const auto limit = [&](const char* name, std::optional<double> value) {
    if (!value) return;
    if (limited["type"] == "integer")
      limited[name] = static_cast<std::int64_t>(*value);
    else
      limited[name] = *value;
  };
  limit("minimum", field.minimum);
  limit("exclusiveMinimum", field.exclusive_minimum);
  limit("maximum", field.maximum);
  schema["description"] = field.description;
  return schema;
}

Json passes_schema(const char* description) {
  Json properties = Json::object();
  for (const PassSwitch& pass : pass_switches()) {
    properties[std::string(pass.name)] = {
        {"type", "boolean"},
        {"description",
         std::string(pass.help) + (pass.error.empty() ? "" : "; approximate: " + std::string(pass.error))}};
  }
  Json schema = object(std::move(properties));
  schema["description"] = description;
  return schema;
}

// A list of sources with weights.
Json mix_schema(Json source, const char* description) {
  source["properties"]["weight"] = {
      {"type", "number"}, {"minimum", 0}, {"description", "share of the samples; set it for all sources or for none"}};
  source["properties"]["earlier_weights"] = {
      {"type", "array"},
      {"items", {{"type", "number"}, {"minimum", 0}}},
      {"description", "weights used earlier in the run, one per change; required to resume with more than 8 sources"}};
  return {{"type", "array"}, {"items", std::move(source)}, {"default", Json::array()}, {"description", description}};
}

}  // namespace

std::string spec_schema() {
  std::vector<YamlKey> keys;
  (void)read_pipeline_yaml(YamlMap::describing(keys));
  Json properties = Json::object();
  for (const YamlKey& key : keys) {
    const SpecField* const field = find_spec_field(key.path);
    if (field == nullptr) throw Error(ErrorKind::kInternal, "spec_fields.cpp has no row for " + key.path);
    Json node;
    if (key.path == "operations") {
      node = operations_schema(operations(), field->description);
    } else if (key.path == "batch_operations") {
      node = operations_schema(batch_operations(), field->description);
    } else if (key.path == "passes") {
      node = passes_schema(field->description);
    } else if (key.path == "mix") {
      node = mix_schema(properties["source"], field->description);
    } else if (key.path == "order.class_weights") {
      node = {{"type", "object"},
              {"additionalProperties", {{"type", "number"}, {"minimum", 0}}},
              {"description", field->description}};
    } else if (std::holds_alternative<YamlKey::Mapping>(key.value)) {
      node = object(Json::object());
      node["description"] = field->description;
    } else {
      node = field_schema(key, *field);
    }
    // The reader requests a mapping before its keys.
    Json* parent = &properties;
    std::string_view path = key.path;
    for (std::size_t dot; (dot = path.find('.')) != std::string_view::npos; path.remove_prefix(dot + 1))
      parent = &(*parent)[std::string(path.substr(0, dot))]["properties"];
    (*parent)[std::string(path)] = std::move(node);
  }
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "unstarve pipeline"}};
  schema.update(object(std::move(properties)));
  return schema.dump(2) + "\n";
}

}  // namespace unstarve
