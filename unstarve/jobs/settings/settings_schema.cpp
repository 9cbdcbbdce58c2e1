#include "unstarve/jobs/settings/settings_schema.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "unstarve/core/json.h"
#include "unstarve/jobs/host/host_settings.h"
#include "unstarve/jobs/settings/recipes.h"
#include "unstarve/pipeline/spec/spec_document.h"
#include "unstarve/pipeline/spec/spec_schema.h"
#include "unstarve/train/settings_fields.h"

namespace unstarve {
namespace {

using SchemaJson = nlohmann::ordered_json;

SchemaJson mapping(SchemaJson properties) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

SchemaJson number_in(const FieldRange& range) {
  SchemaJson schema = {{"type", "number"}};
  if (std::isfinite(range.low)) schema[range.low_excluded ? "exclusiveMinimum" : "minimum"] = range.low;
  if (std::isfinite(range.high)) schema[range.high_excluded ? "exclusiveMaximum" : "maximum"] = range.high;
  return schema;
}

template <class T>
SchemaJson integer_in(const FieldRange& range) {
  using Limits = std::numeric_limits<T>;
  return {{"type", "integer"},
          {"minimum", std::isfinite(range.low) ? static_cast<T>(range.low) : Limits::min()},
          {"maximum", std::isfinite(range.high) ? static_cast<T>(range.high) : Limits::max()}};
}

template <class T>
SchemaJson type_of(const FieldInfo& field, const T&) {
  const std::string_view path = field.path;
  if constexpr (std::is_enum_v<T>) {
    SchemaJson schema = {{"type", "string"}, {"enum", SchemaJson::array()}};
    for (const std::string_view word : words_of<T>()) schema["enum"].push_back(std::string(word));
    return schema;
  } else if constexpr (std::is_same_v<T, std::string>) {
    SchemaJson schema = {{"type", "string"}};
    if (path == "device") schema["pattern"] = "^(cpu|cuda(:[0-9]+)?)$";
    if (path == "prune.pattern") schema["pattern"] = "^(any|channels|[0-9]+:[0-9]+)$";
    return schema;
  } else if constexpr (std::is_same_v<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::is_same_v<T, double>) {
    return number_in(field.range);
  } else if constexpr (std::is_same_v<T, std::vector<double>>) {
    SchemaJson list = {{"type", "array"}, {"items", number_in(field.range)}};
    if (!path.ends_with("_ramp")) return {{"anyOf", {std::move(list), number_in(field.range)}}};
    list["minItems"] = list["maxItems"] = 2;
    return list;
  } else {
    if (path == "evaluation_size" || path == "progressive.image_size")
      return {{"anyOf", {{{"const", 0}}, integer_in<T>({kLeastSide, kLargestSide})}}};
    return integer_in<T>(field.range);
  }
}

// Collects the properties of a section; the fields of a group follow each other.
struct SectionSchema {
  SchemaJson properties = SchemaJson::object();

  template <class T>
  void operator()(const FieldInfo& field, const T& value) {
    SchemaJson schema = type_of(field, value);
    std::string description = field.help;
    if (field.fallback[0] != '\0') {
      description += fmt::format("; default: {}", field.fallback);
    } else if constexpr (std::is_enum_v<T>) {
      schema["default"] = std::string(word_of(value));
    } else {
      schema["default"] = value;
    }
    schema["description"] = description;
    const std::string path = field.path;
    const std::size_t dot = path.find('.');
    if (dot == std::string::npos) {
      properties[path] = std::move(schema);
      return;
    }
    SchemaJson& group = properties[path.substr(0, dot)];
    if (group.is_null()) group = mapping(SchemaJson::object());
    group["properties"][path.substr(dot + 1)] = std::move(schema);
  }
};

SchemaJson described(SchemaJson schema, const char* description) {
  schema["description"] = description;
  return schema;
}

}  // namespace

std::string settings_schema() {
  SchemaJson names = SchemaJson::array();
  for (const Recipe& recipe : recipes()) names.push_back(std::string(recipe.name));
  SchemaJson pipeline = parse_ordered_json(spec_schema());
  pipeline.erase("$schema");
  pipeline.erase("title");
  const Settings defaults;
  SectionSchema train, host;
  visit_train_fields(defaults.train, train);
  visit_host_fields(defaults.host, host);
  // These depend on the data.
  for (const char* const key : {"model", "classes", "image_size"}) train.properties[key].erase("default");
  SchemaJson properties;
  properties["unstarve"] = {{"const", kSettingsVersion}, {"description", "version of the settings file"}};
  properties["recipe"] = {
      {"type", "string"}, {"enum", names}, {"description", "named set of settings, which other keys override"}};
  properties["pipeline"] = described(std::move(pipeline), "data, operations, batches and execution of the loader");
  properties["train"] = described(mapping(std::move(train.properties)), "training of a network");
  properties["host"] = described(mapping(std::move(host.properties)), "how the process uses its machine");
  SchemaJson schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "unstarve settings"}};
  schema.update(mapping(std::move(properties)));
  schema["required"] = {"unstarve"};
  return json_text(schema, 2) + "\n";
}

}  // namespace unstarve
