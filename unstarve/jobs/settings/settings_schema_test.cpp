#include "unstarve/jobs/settings/settings_schema.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>
#include <nlohmann/json.hpp>

#include "unstarve/core/error.h"
#include "unstarve/core/json.h"
#include "unstarve/jobs/settings/settings.h"
#include "unstarve/train/settings_fields.h"

namespace unstarve {
namespace {

using TestJson = nlohmann::json;

// "train.optimiser.momentum" and its schema, of every value below a mapping.
void visit_keys(const TestJson& schema, const std::string& path, auto&& use) {
  for (const auto& [key, value] : schema["properties"].items()) {
    const std::string inner = path.empty() ? key : path + "." + key;
    if (value.contains("properties"))
      visit_keys(value, inner, use);
    else
      use(inner, value);
  }
}

// A settings file with `value` at this path.
TestJson file_with(const std::string& path, const TestJson& value) {
  TestJson file = {{"unstarve", 1}};
  TestJson* node = &file;
  for (std::size_t begin = 0, end = 0; begin < path.size(); begin = end + 1) {
    end = std::min(path.find('.', begin), path.size());
    node = &(*node)[path.substr(begin, end - begin)];
  }
  *node = value;
  return file;
}

// JSON is valid YAML.
std::string error_of(const TestJson& file) {
  try {
    (void)settings_from_yaml(json_text(file), "f");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Keys whose values others limit.
bool depends(const std::string& path) {
  return path == "train.qat.begin" || path == "train.qat.freeze" || path == "train.progressive.image_size";
}

TEST_CASE("the schema of settings has every key that is written, and no other") {
  const TestJson schema = parse_json(settings_schema());
  std::set<std::string> described, written{"unstarve", "recipe"};
  visit_keys(schema, "", [&](const std::string& path, const TestJson& value) {
    CAPTURE(path);
    CHECK(value.contains("description"));
    if (!path.starts_with("pipeline")) described.insert(path);
  });
  const auto add = [&](const char* section) {
    return [&written, section](const FieldInfo& field, const auto&) {
      written.insert(std::string(section) + "." + field.path);
    };
  };
  Settings settings;
  visit_train_fields(settings.train, add("train"));
  visit_host_fields(settings.host, add("host"));
  CHECK(described == written);
  settings.recipe = "cifar-speed";
  const YAML::Node file = YAML::Load(to_yaml(settings));
  for (const auto& node : file) CHECK(schema["properties"].contains(node.first.as<std::string>()));
}

TEST_CASE("mappings of the schema of settings accept no other keys, as the reader") {
  const TestJson schema = parse_json(settings_schema());
  std::vector<std::string> mappings{""};
  for (const char* const section : {"train", "host"}) {
    mappings.emplace_back(section);
    for (const auto& [key, value] : schema["properties"][section]["properties"].items())
      if (value.contains("properties")) mappings.push_back(std::string(section) + "." + key);
  }
  CHECK(mappings.size() == 9);
  for (const std::string& path : mappings) {
    CAPTURE(path);
    const TestJson* node = &schema;
    for (std::size_t begin = 0, end = 0; begin < path.size(); begin = end + 1) {
      end = std::min(path.find('.', begin), path.size());
      node = &(*node)["properties"][path.substr(begin, end - begin)];
    }
    CHECK((*node)["additionalProperties"] == false);
    const std::string unknown = path.empty() ? "other" : path + ".other";
    CHECK_THAT(error_of(file_with(unknown, 1)), Catch::Contains("f." + unknown) && Catch::Contains("unknown key"));
  }
}

TEST_CASE("the reader accepts what the schema of settings accepts, and no value beyond") {
  const TestJson schema = parse_json(settings_schema());
  int bounds = 0;
  visit_keys(schema, "", [&](const std::string& path, const TestJson& value) {
    if (path.starts_with("pipeline") || path == "unstarve") return;
    CAPTURE(path);
    if (value.contains("default")) CHECK(error_of(file_with(path, value["default"])) == "");
    for (const TestJson& word : value.value("enum", TestJson::array())) CHECK(error_of(file_with(path, word)) == "");
    CHECK(error_of(file_with(path, TestJson::array({"a", 1}))) != "");
    TestJson type = value;
    if (type.contains("anyOf")) type = TestJson(value["anyOf"].back());
    const bool list = type["type"] == "array";
    if (list) type = TestJson(type["items"]);
    const auto error_with = [&](const TestJson& number) {
      return error_of(file_with(path, list ? TestJson::array({number, number}) : number));
    };
    const bool integer = type["type"] == "integer";
    for (const auto& [bound, direction] : {std::pair("inimum", -1.0), std::pair("aximum", 1.0)}) {
      const std::string tail = bound;
      if (type.contains("exclusiveM" + tail)) {
        ++bounds;
        const double limit = type["exclusiveM" + tail];
        CHECK(error_with(limit) != "");
        if (!depends(path)) CHECK(error_with(limit - direction * 1e-6) == "");
      }
      if (!type.contains("m" + tail)) continue;
      ++bounds;
      const TestJson limit = type["m" + tail];
      if (!depends(path)) CHECK(error_with(limit) == "");
      if (integer && std::abs(limit.get<double>()) < 1e9)
        CHECK(error_with(limit.get<std::int64_t>() + static_cast<std::int64_t>(direction)) != "");
      if (!integer) CHECK(error_with(std::nextafter(limit.get<double>(), direction * 1e300)) != "");
    }
  });
  CHECK(bounds > 60);
}

}  // namespace
}  // namespace unstarve
