#include "unstarve/pipeline/spec/spec_schema.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <set>

#include <yaml-cpp/yaml.h>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/core/random.h"
#include "unstarve/ops/batch/batch_operation.h"
#include "unstarve/ops/operations.h"
#include "unstarve/pipeline/spec/check_spec.h"
#include "unstarve/pipeline/spec/pass_switches.h"
#include "unstarve/pipeline/spec/spec_yaml.h"

namespace unstarve {
namespace {

using Json = nlohmann::json;

// The error of reading and checking `spec`; "" if it is valid. JSON is valid YAML.
std::string error_of(const Json& spec) {
  try {
    check_spec(pipeline_from_yaml(json_text(spec), "p"));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

bool needs_size(const std::string& operation) {
  try {
    (void)make_operation({operation, {}});
    return false;
  } catch (const Error&) {
    return true;
  }
}

struct Field {
  std::string path;  // "batch.size", "mix[0].weight", or "operations[0]", where messages name the parameter
  const Json* schema;
  std::vector<std::string> keys;  // from the root; a list has one entry
  Json scheduled = nullptr;       // for a part of a schedule: a valid value of the parameter

  [[nodiscard]] bool is_parameter() const { return keys[0] == "operations" || keys[0] == "batch_operations"; }
  // Name in messages after the path: the parameter of an operation, or else the key.
  [[nodiscard]] const std::string& key() const { return scheduled.is_null() ? keys.back() : keys[2]; }
  // The smallest spec with `value` in this field.
  [[nodiscard]] Json with(const Json& value) const {
    Json spec = value;
    for (std::size_t i = keys.size(); i-- > 0;) {
      spec = Json{{keys[i], spec}};
      if (i == 1 && (is_parameter() || keys[0] == "mix")) spec = Json::array({spec});
    }
    if (!scheduled.is_null()) {
      Json& points = spec[keys[0]][0][keys[1]][keys[2]]["schedule"];
      if (!points.contains("0")) points["0"] = scheduled;
    }
    // Operations with a required size.
    if (keys.size() >= 3 && keys[0] == "operations" && keys[2] != "size" && keys[1] != "one_of" && needs_size(keys[1]))
      spec["operations"][0][keys[1]]["size"] = 8;
    if (keys.size() >= 3 && keys[1] == "rand_augment") {  // the magnitude must be below the number of bins
      if (keys[2] == "magnitude") spec["operations"][0][keys[1]]["num_magnitude_bins"] = 1000;
      if (keys[2] == "num_magnitude_bins") spec["operations"][0][keys[1]]["magnitude"] = 0;
    }
    if (path == "order.rank") spec["order"]["world"] = std::numeric_limits<int>::max();
    if (path.starts_with("order.class_weights")) spec["order"]["balance"] = true;
    if (path == "mix[0].weight") spec["mix"].push_back({{"path", "other"}, {"weight", 1}});
    if (path == "mix[0].earlier_weights") spec["mix"][0]["weight"] = 1;
    if (path.starts_with("cache.limit")) spec["cache"]["what"] = "pixels";
    if (path == "batch.bucket.window") spec["batch"]["pad"]["to"] = "largest";
    if (path == "batch.pad.size") spec["batch"]["pad"]["to"] = "size";
    if (path.starts_with("device.")) {
      Json& device = spec["device"];
      if (path != "device.name") device["name"] = "cuda:1";
      if (path == "device.decode" || path == "device.decode_share") device["operations"] = "device";
      if (path == "device.decode_share") device["decode"] = "hybrid";
    }
    if (path == "batch.pad.to" && value == "size") spec["batch"]["pad"]["size"] = {8, 8};
    return spec;
  }
};

bool is_list_of_operations(const Json& schema) {
  return schema.contains("items") && schema["items"].contains("anyOf") && schema["type"] == "array";
}

// Adds a parameter of an operation, and each part of its schedule if it accepts one.
void add_parameter(std::vector<Field>& all, const Field& parameter) {
  const Json& schema = *parameter.schema;
  const auto is_schedule = [](const Json& one) { return one.contains("properties"); };
  if (!schema.contains("anyOf") || !is_schedule(schema["anyOf"].back())) {
    all.push_back(parameter);
    return;
  }
  Field plain = parameter;
  plain.schema = &schema["anyOf"][0];
  all.push_back(plain);
  Json example = *plain.schema;
  while (example.contains("anyOf")) example = Json(example["anyOf"][0]);
  example = example.contains("default") ? Json(example["default"]) : Json(example["minimum"]);
  const auto add = [&](std::vector<std::string> keys, const Json& part) {
    keys.insert(keys.begin(), parameter.keys.begin(), parameter.keys.end());
    all.push_back({parameter.path, &part, std::move(keys), example});
  };
  for (const auto& [name, part] : schema["anyOf"][1]["properties"].items()) {
    if (name != "schedule") {
      add({name}, part);
      continue;
    }
    add({"schedule", "0"}, part["properties"]["0"]);
    add({"schedule", "3"}, part["patternProperties"].begin().value());
  }
}

// Adds the fields of the node at `path` and `keys`.
void add_fields(std::vector<Field>& all, const Json& node, const std::string& path,
                const std::vector<std::string>& keys) {
  const auto append = [](std::vector<std::string> parents, const std::string& key) {
    parents.push_back(key);
    return parents;
  };
  const auto add = [&](const std::string& key, const Json& schema) {
    const std::string here = path.empty() ? key : path + "." + key;
    if (is_list_of_operations(schema)) {
      for (const auto& [name, operation] : schema["items"]["anyOf"][1]["properties"].items())
        for (const auto& [parameter, type] : operation["properties"].items())
          add_parameter(all, {here + "[0]", &type, {key, name, parameter}});
    } else if (schema.value("type", Json()) == "array" && schema["items"].contains("properties")) {
      add_fields(all, schema["items"], here + "[0]", append(keys, key));
    } else if (schema.value("type", Json()) == "object") {
      add_fields(all, schema, here, append(keys, key));
    } else {
      all.push_back({here, &schema, append(keys, key)});
    }
  };
  const Json properties = node.value("properties", Json::object());
  for (const auto& property : properties.items()) add(property.key(), node["properties"][property.key()]);
  if (node.contains("additionalProperties") && node["additionalProperties"].is_object())
    add("a", node["additionalProperties"]);  // a mapping with user-defined keys
}

// All fields with a value.
std::vector<Field> fields(const Json& schema) {
  std::vector<Field> all;
  add_fields(all, schema, "", {});
  return all;
}

// Calls f for every schema of a scalar or of a list of scalars, independently of fields().
template <class F>
void visit_values(const Json& schema, const std::string& pointer, const F& f) {
  // "type" and "properties" may also be names of properties.
  const bool typed = schema.is_object() && schema.contains("type") && !schema["type"].is_object();
  const bool inner_node = typed && (schema.contains("properties") || schema["type"] == "object");
  const bool of_nodes =
      typed && schema.contains("items") && (schema["items"].contains("properties") || is_list_of_operations(schema));
  if (typed && !inner_node && !of_nodes) f(schema, pointer);
  for (const auto& [key, inner] : schema.items())
    if (inner.is_structured()) visit_values(inner, pointer + "/" + key, f);
}

TEST_CASE("the schema describes every key that is written") {
  const Json schema = parse_json(spec_schema());
  PipelineSpec spec;
  for (const PassSwitch& pass : pass_switches()) spec.passes[std::string(pass.name)] = true;
  for (const auto& node : YAML::Load(to_yaml(spec))) {
    const auto name = node.first.as<std::string>();
    REQUIRE(schema["properties"].contains(name));
    if (!node.second.IsMap()) continue;
    for (const auto& key : node.second) {
      INFO(name << '.' << key.first.as<std::string>());
      CHECK(schema["properties"][name]["properties"].contains(key.first.as<std::string>()));
    }
  }
  for (const OperationInfo& info : operations())
    CHECK(schema["properties"]["operations"]["items"]["anyOf"][1]["properties"].contains(std::string(info.name)));
}

TEST_CASE("the fields tested here are all fields of the schema") {
  const Json schema = parse_json(spec_schema());
  std::set<const Json*> tested;
  for (const Field& field : fields(schema))
    visit_values(*field.schema, "", [&](const Json& value, const std::string&) { tested.insert(&value); });
  std::size_t values = 0;
  visit_values(schema, "", [&](const Json& value, const std::string& pointer) {
    if (pointer.ends_with("/items/anyOf/0")) return;  // name of an operation without parameters
    ++values;
    INFO(pointer);
    CHECK(tested.contains(&value));
  });
  CHECK(values > 300);
}

TEST_CASE("defaults and both ends of every range are accepted, values outside are rejected") {
  const Json schema = parse_json(spec_schema());
  std::size_t ranges = 0;
  for (const Field& field : fields(schema)) {
    Json type = *field.schema;
    while (type.contains("anyOf")) type = Json(type["anyOf"][0]);  // not a schedule; one side
    const bool list = type["type"] == "array";
    const std::size_t count = list ? type.value("minItems", std::size_t{1}) : 1;
    const auto value = [&](const Json& number) { return list ? Json(std::vector<Json>(count, number)) : number; };
    INFO(field.path << ' ' << field.keys.back());
    if (type.contains("default")) CHECK(error_of(field.with(type["default"])) == "");
    for (const Json& choice : type.value("enum", Json::array())) CHECK(error_of(field.with(choice)) == "");
    const Json number = list ? type["items"] : type;
    if (number.contains("minimum")) {
      ++ranges;
      CHECK(error_of(field.with(value(number["minimum"]))) == "");
      if (number["minimum"].is_number_float())
        CHECK(error_of(field.with(value(std::nextafter(number["minimum"].get<double>(), -1e300)))) != "");
      else
        CHECK(error_of(field.with(value(number["minimum"].get<std::int64_t>() - 1))) != "");
    }
    if (number.contains("exclusiveMinimum")) CHECK(error_of(field.with(value(number["exclusiveMinimum"]))) != "");
    if (number.contains("maximum")) {
      ++ranges;
      CHECK(error_of(field.with(value(number["maximum"]))) == "");
      CHECK(error_of(field.with(value(number["maximum"].get<double>() * 1.001))) != "");
    }
  }
  CHECK(ranges > 30);
}

TEST_CASE("every field survives a round trip through YAML") {
  const Json schema = parse_json(spec_schema());
  for (const Field& field : fields(schema)) {
    for (const Json& value : {Json(true), Json(false), Json(1), Json(3), Json(0.25), Json("text"), Json({0.5, 0.75}),
                              Json({0.5, 0.25, 0.75}), field.schema->value("enum", Json::array({"a"})).back()}) {
      PipelineSpec spec;
      try {
        spec = pipeline_from_yaml(json_text(field.with(value)), "p");
      } catch (const Error&) {
        continue;  // wrong type
      }
      INFO(json_text(field.with(value)));
      CHECK(pipeline_from_yaml(to_yaml(spec), "p") == spec);
    }
  }
}

TEST_CASE("an invalid field is rejected with its path and the expected value") {
  const Json schema = parse_json(spec_schema());
  const std::vector<Json> values = {nullptr,
                                    true,
                                    3,
                                    -3,
                                    1.5,
                                    "many",
                                    "",
                                    "true",
                                    "7",
                                    Json::array(),
                                    Json::array({1, 2}),
                                    Json::array({"a"}),
                                    Json{{"a", 1}},
                                    Json::array({Json::array({1})}),
                                    1e300,
                                    -1e-300,
                                    18446744073709551615ULL,
                                    ".nan",
                                    ".inf",
                                    "~",
                                    "a: b",
                                    "\n- c",
                                    "\"",
                                    "\xc3\xa9"};
  Random random(1, 2, 3, 4);
  std::size_t rejected = 0;
  const std::vector<Field> all = fields(schema);
  for (const Field& field : all) {
    std::size_t here = 0;
    for (const Json& value : values) {
      Json spec = field.with(value);
      INFO(json_text(spec));
      const std::string text = error_of(spec);
      if (!text.empty()) {
        ++here;
        CHECK_THAT(text, Catch::Contains(field.path) && Catch::Contains("expected"));
        CHECK_THAT(text, Catch::Contains(field.key()));
      }
      // Two invalid fields: the message names one of them.
      const Field& other = all[random.below(static_cast<std::uint32_t>(all.size()))];
      const Json& another = values[random.below(static_cast<std::uint32_t>(values.size()))];
      Json both = spec;
      both.merge_patch(other.with(another));
      if (const std::string of_both = error_of(both); !of_both.empty()) {
        INFO(json_text(both) << ": " << of_both);
        const auto names = [&](const Field& named) { return of_both.find(named.path) != std::string::npos; };
        // Both may be valid separately but not together.
        const bool conflict = both.contains("mix") && both.contains("source") && of_both.starts_with("source: ");
        CHECK((names(field) || names(other) || conflict));
      }
    }
    INFO(field.path);
    CHECK(here >= 5);
    rejected += here;
    // An unknown key next to this one.
    if (field.path == "order.class_weights.a") continue;  // any key may be a class
    Field unknown = field;
    unknown.keys.back() += "x";
    unknown.path = field.is_parameter() ? field.path : field.path + "x";
    const std::string text = error_of(unknown.with(1));
    CHECK_THAT(text, Catch::Contains(unknown.path) && Catch::Contains(unknown.keys.back()));
    if (field.keys[0] != "passes")
      CHECK_THAT(text, Catch::Contains("known keys") || Catch::Contains("it takes") || Catch::Contains("an epoch"));
  }
  CHECK(rejected > 2000);
}

}  // namespace
}  // namespace unstarve
