#include "unstarve/pipeline/spec/spec_schema.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "unstarve/core/json.h"
#include "unstarve/ops/base/parameters.h"
#include "unstarve/ops/batch/batch_operation.h"
#include "unstarve/ops/operations.h"
#include "unstarve/pipeline/spec/pass_switches.h"
#include "unstarve/pipeline/spec/spec_nodes.h"

namespace unstarve {
namespace {

using Json = nlohmann::ordered_json;

Json object(Json properties) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

Json list_of(Json items, std::size_t count) {
  return {{"type", "array"}, {"items", std::move(items)}, {"minItems", count}, {"maxItems", count}};
}

// One `value`, or a list of two.
Json one_or_two(const Json& value, const char* description) {
  return {{"anyOf", {value, list_of(value, 2)}}, {"description", description}};
}

Json parameter_schema(const ParameterInfo& info) {
  const auto make = [](const auto& kind) -> Json {
    using Kind = std::decay_t<decltype(kind)>;
    if constexpr (std::is_same_v<Kind, ParameterInfo::Integer>) {
      return {{"type", "integer"}, {"minimum", kind.low}, {"maximum", kind.high}, {"default", kind.fallback}};
    } else if constexpr (std::is_same_v<Kind, ParameterInfo::Number>) {
      return {{"type", "number"}, {"minimum", kind.low}, {"maximum", kind.high}, {"default", kind.fallback}};
    } else if constexpr (std::is_same_v<Kind, ParameterInfo::Range>) {
      Json schema = list_of({{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", kind.high}}, 2);
      schema["default"] = {kind.fallback.first, kind.fallback.second};
      return schema;
    } else if constexpr (std::is_same_v<Kind, ParameterInfo::Interval>) {
      Json schema = one_or_two({{"type", "number"}, {"minimum", kind.low}, {"maximum", kind.high}},
                               "a number, or [minimum, maximum]");
      schema["default"] = {kind.fallback.first, kind.fallback.second};
      return schema;
    } else if constexpr (std::is_same_v<Kind, ParameterInfo::Integers>) {
      const Json number = {{"type", "integer"}, {"minimum", kind.low}, {"maximum", kind.high}};
      Json any = Json::array();
      for (const std::size_t count : kind.counts) any.push_back(count == 1 ? number : list_of(number, count));
      if (!kind.words.empty()) any.push_back({{"type", "string"}, {"enum", kind.words}});
      Json fallback = kind.fallback;
      if (kind.fallback.size() == 1) fallback = kind.fallback[0];
      if (kind.fallback.empty()) fallback = kind.words.front();
      return {{"anyOf", std::move(any)}, {"default", std::move(fallback)}};
    } else if constexpr (std::is_same_v<Kind, ParameterInfo::Choice>) {
      return {{"type", "string"}, {"enum", kind.words}, {"default", kind.fallback}};
    } else if constexpr (std::is_same_v<Kind, ParameterInfo::Text>) {
      return {{"type", "string"}, {"examples", {kind.example}}};
    } else if constexpr (std::is_same_v<Kind, ParameterInfo::Flag>) {
      return {{"type", "boolean"}, {"default", kind.fallback}};
    } else {
      return one_or_two({{"type", "integer"}, {"minimum", kind.low}, {"maximum", kind.high}},
                        "one side, or [height, width], in pixels");
    }
  };
  return std::visit(make, info.kind);
}

// Numeric parameters also accept a schedule: values by epoch (ops/schedule.h).
Json with_schedule(Json value) {
  if (value.contains("enum") || value.value("type", "") == "boolean" || value.contains("examples")) return value;
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

// Collects the properties of a mapping. Values are the defaults.
class Schema {
 public:
  Json properties = Json::object();

  template <class T>
  void node(const char* key, const T& value, const NodeInfo& info) {
    Json schema = of(value, info);
    schema["description"] = info.description;
    properties[key] = std::move(schema);
  }
  void node(const char* key, const std::vector<OpSpec>&, const NodeInfo& info) {
    properties[key] = key == std::string_view("operations") ? operations_schema(operations(), info.description)
                                                            : operations_schema(batch_operations(), info.description);
  }
  void node(const char* key, const std::map<std::string, bool>&, const NodeInfo& info) {
    properties[key] = passes_schema(info.description);
  }
  template <class Visit>
  void map(const char* key, const NodeInfo& info, const Visit& visit) {
    Schema inner;
    visit(inner);
    properties[key] = object(std::move(inner.properties));
    properties[key]["description"] = info.description;
  }
  template <class Visit>
  void sources(const char* key, const std::vector<SourceSpec>&, const NodeInfo& info, const Visit& visit) {
    Schema inner;
    visit(inner, SourceSpec{});
    properties[key] = {{"type", "array"},
                       {"items", object(std::move(inner.properties))},
                       {"default", Json::array()},
                       {"description", info.description}};
  }

 private:
  template <class T>
  static Json of(const T& value, const NodeInfo& info) {
    Json schema;
    if constexpr (std::is_enum_v<T>) {
      schema = {{"type", "string"}, {"enum", Json::array()}};
      for (const auto& [name, candidate] : names_of(value)) {
        schema["enum"].push_back(name);
        if (candidate == value) schema["default"] = name;
      }
      return schema;
    } else if constexpr (std::is_same_v<T, std::string>) {
      schema["type"] = "string";
      if (info.pattern != nullptr) schema["pattern"] = info.pattern;
    } else if constexpr (std::is_same_v<T, bool>) {
      schema["type"] = "boolean";
    } else if constexpr (std::is_integral_v<T>) {
      schema = integer(info, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    } else if constexpr (std::is_same_v<T, double>) {
      schema = number(info);
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      schema = {{"type", "array"}, {"items", {{"type", {"string", "integer", "number", "boolean"}}}}};
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
      schema = {{"type", "array"}, {"items", number(info)}};
    } else {  // std::array<float, kChannels>
      schema = list_of(number(info), value.size());
    }
    schema["default"] = value;
    return schema;
  }
  template <class T>
  static Json of(const std::optional<T>&, const NodeInfo& info) {
    Json schema = of(T{}, info);
    schema.erase("default");
    return schema;
  }
  static Json of(Size, const NodeInfo& info) { return list_of(integer(info, 0, 0), 2); }
  static Json of(const std::map<std::string, double>&, const NodeInfo& info) {
    return {{"type", "object"}, {"additionalProperties", number(info)}};
  }
  static Json number(const NodeInfo& info) {
    Json schema = {{"type", "number"}};
    if (info.minimum) schema["minimum"] = *info.minimum;
    if (info.above) schema["exclusiveMinimum"] = *info.above;
    if (info.maximum) schema["maximum"] = *info.maximum;
    return schema;
  }
  template <class T>
  static Json integer(const NodeInfo& info, T lowest, T highest) {
    return {{"type", "integer"},
            {"minimum", info.minimum ? static_cast<T>(*info.minimum) : lowest},
            {"maximum", info.maximum ? static_cast<T>(*info.maximum) : highest}};
  }
};

}  // namespace

std::string spec_schema() {
  Schema root;
  visit_spec(root, PipelineSpec{});
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "unstarve pipeline"}};
  schema.update(object(std::move(root.properties)));
  return json_text(schema, 2) + "\n";
}

}  // namespace unstarve
