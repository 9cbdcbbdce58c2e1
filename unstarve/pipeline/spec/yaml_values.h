#pragma once
// Enumeration names and numbers of a spec in YAML. Private to pipeline/spec.
//
// Failure: Error(kInput) with the path of the node.

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "unstarve/pipeline/spec/yaml_map.h"

namespace unstarve {

// Names of the values of an enumeration.
template <class T, std::size_t N>
using Names = std::array<std::pair<const char*, T>, N>;

// "" if the value has no name.
template <class T, std::size_t N>
const char* name_of(const Names<T, N>& names, T value) {
  for (const auto& [name, candidate] : names)
    if (candidate == value) return name;
  return "";
}

// Reads the name under `key` into `value` if present; throws for an unknown name.
template <class T, std::size_t N>
void get_named(YamlMap& map, const std::string& key, const Names<T, N>& names, T& value) {
  std::string text = name_of(names, value);
  map.get(key, text);
  std::vector<std::string> choices;
  for (const auto& [name, candidate] : names) choices.emplace_back(name);
  map.expect_choices(std::move(choices));
  std::string known;
  for (const auto& [name, candidate] : names) {
    if (text == name) {
      value = candidate;
      return;
    }
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  map.fail(key, fmt::format("found \"{}\", expected one of {}", text, known));
}

// The shortest text that parses to the same number.
template <class Number>
std::string exact_text(Number number) {
  if (std::isnan(number)) return ".nan";
  if (std::isinf(number)) return number < 0 ? "-.inf" : ".inf";
  return fmt::format("{}", number);
}

void write_numbers(YAML::Emitter& out, const auto& numbers) {
  out << YAML::Flow << YAML::BeginSeq;
  for (const auto number : numbers) out << exact_text(number);
  out << YAML::EndSeq;
}

}  // namespace unstarve
