#include "unstarve/pipeline/spec/yaml_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <system_error>

#include "unstarve/core/format_error.h"
#include "unstarve/core/suggestion.h"
#include "unstarve/pipeline/spec/faults.h"

namespace unstarve {
namespace {

std::string found_in(const YAML::Node& node) {
  if (node.IsScalar()) return '"' + node.Scalar() + '"';
  return node.IsSequence() ? "a list" : node.IsMap() ? "a mapping" : "nothing";
}

}  // namespace

YamlMap::YamlMap(const YAML::Node& node, std::string path) : node_(node), path_(std::move(path)) {
  if (node_.IsDefined() && !node_.IsNull() && !node_.IsMap())
    throw input_error("{}: line {}: expected a mapping (key: value)", path_, node_.Mark().line + 1);
  if (!node_.IsMap()) return;
  // yaml-cpp accepts duplicate keys and uses the first; other parsers use the last.
  std::map<std::string, int> lines;
  for (const auto& entry : node_) {
    const int line = entry.first.Mark().line + 1;
    const auto [first, inserted] = lines.emplace(entry.first.Scalar(), line);
    if (!inserted)
      duplicates_.push_back(fmt::format("{}.{}: line {}: found a second time, first on line {}; expected once", path_,
                                        first->first, line, first->second));
  }
}

YamlMap YamlMap::parse(const std::string& text, const std::string& name) {
  try {
    return YamlMap(YAML::Load(text), name);
  } catch (const YAML::Exception& error) {
    throw input_error("{}: not YAML: line {}: {}", name, error.mark.line + 1, error.msg);
  }
}

bool YamlMap::has(const std::string& key) const { return node_.IsMap() && node_[key].IsDefined(); }

bool YamlMap::is_word(const std::string& key) const {
  if (!has(key) || !node_[key].IsScalar() || node_[key].Scalar().empty()) return false;
  double number = 0;
  return !YAML::convert<double>::decode(node_[key], number);
}

void YamlMap::fail(const std::string& key, const std::string& what) const {
  const int line = has(key) ? node_[key].Mark().line + 1 : node_.Mark().line + 1;
  throw input_error("{}.{}: line {}: {}", path_, key, line, what);
}

std::string YamlMap::location(const std::string& node) const {
  YAML::Node here = node_;
  int line = -1;
  for (std::size_t at = 0; at < node.size();) {
    YAML::Node child(YAML::NodeType::Undefined);
    if (node[at] == '[') {
      const std::size_t end = node.find(']', at);
      std::size_t index = 0;
      if (here.IsSequence() && std::from_chars(&node[at] + 1, node.data() + node.size(), index).ec == std::errc() &&
          index < here.size())
        child.reset(here[index]);
      at = end < node.size() ? end + 1 : end;
    } else {
      at += node[at] == '.' ? 1 : 0;
      const std::size_t end = std::min(node.find_first_of(".[", at), node.size());
      const std::string key = node.substr(at, end - at);
      if (here.IsMap() && here[key].IsDefined()) child.reset(here[key]);
      at = end;
    }
    if (!child.IsDefined()) break;
    here.reset(child);
    line = here.Mark().line + 1;
  }
  return fmt::format("{}.{}{}", path_, node, line > 0 ? fmt::format(": line {}", line) : "");
}

template <class T>
void YamlMap::read(const std::string& key, T& value, const char* expected) {
  requested_.insert(key);
  if (!has(key)) return;
  const YAML::Node node = node_[key];
  if (node.IsNull() || !YAML::convert<T>::decode(node, value))
    fail(key, fmt::format("found {}; expected {}", found_in(node), expected));
}

template <class T>
void YamlMap::read_list(const std::string& key, std::vector<T>& value, const char* expected, const char* element) {
  requested_.insert(key);
  if (!has(key)) return;
  const YAML::Node list = node_[key];
  if (!list.IsSequence()) fail(key, fmt::format("found {}; expected {}", found_in(list), expected));
  value.assign(list.size(), {});
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!YAML::convert<T>::decode(list[i], value[i]))
      throw input_error("{}.{}[{}]: line {}: found {}; expected {}", path_, key, i, list[i].Mark().line + 1,
                        found_in(list[i]), element);
}

void YamlMap::get(const std::string& key, std::string& value) { read(key, value, "text"); }
void YamlMap::get(const std::string& key, bool& value) { read(key, value, "true or false"); }
void YamlMap::get(const std::string& key, int& value) { read(key, value, "a whole number"); }
void YamlMap::get(const std::string& key, std::uint64_t& value) { read(key, value, "a whole number of 0 or more"); }
void YamlMap::get(const std::string& key, double& value) { read(key, value, "a number"); }
void YamlMap::get(const std::string& key, std::vector<double>& value) {
  if (has(key) && node_[key].IsScalar()) {
    double single = 0;
    read(key, single, "a number or a list of numbers");
    value = {single};
  } else {
    read_list(key, value, "a number or a list of numbers", "a number");
  }
}

void YamlMap::get(const std::string& key, std::vector<std::string>& value) {
  read_list(key, value, "a list of texts", "a text");
}

YamlMap YamlMap::map(const std::string& key) {
  requested_.insert(key);
  return {has(key) ? node_[key] : YAML::Node(), path_ + "." + key};
}

YAML::Node YamlMap::list(const std::string& key) {
  requested_.insert(key);
  if (!has(key)) return YAML::Node(YAML::NodeType::Sequence);
  if (!node_[key].IsSequence()) fail(key, "expected a list");
  return node_[key];
}

std::vector<std::pair<std::string, YamlMap>> YamlMap::named_list(const std::string& key) {
  std::vector<std::pair<std::string, YamlMap>> maps;
  const YAML::Node node = list(key);
  for (std::size_t i = 0; i < node.size(); ++i) {
    const std::string path = fmt::format("{}.{}[{}]", path_, key, i);
    if (node[i].IsScalar()) {  // "- name": no parameters
      maps.emplace_back(node[i].Scalar(), YamlMap(YAML::Node(), path));
    } else if (node[i].IsMap() && node[i].size() == 1) {
      const auto entry = node[i].begin();
      maps.emplace_back(entry->first.Scalar(), YamlMap(entry->second, path + "." + entry->first.Scalar()));
    } else {
      fail(key, fmt::format("entry {}: expected \"- name: {{...}}\"", i));
    }
  }
  return maps;
}

std::vector<YamlMap> YamlMap::maps(const std::string& key) {
  std::vector<YamlMap> maps;
  const YAML::Node node = list(key);
  for (std::size_t i = 0; i < node.size(); ++i)
    maps.push_back(YamlMap(node[i], fmt::format("{}.{}[{}]", path_, key, i)));
  return maps;
}

void YamlMap::check_unique() const {
  if (!duplicates_.empty()) throw input_error("{}", fmt::join(duplicates_, "\n"));
}

std::vector<std::string> YamlMap::keys() const {
  check_unique();
  std::vector<std::string> names;
  if (node_.IsMap())
    for (const auto& entry : node_) names.push_back(entry.first.Scalar());
  return names;
}

void YamlMap::finish() const {
  Faults faults;
  faults.collect([&] { check_unique(); });
  for (const auto& entry : node_) {  // none, unless it is a mapping
    const std::string& key = entry.first.Scalar();
    if (!requested_.contains(key))
      faults.collect([&] {
        fail(key,
             fmt::format("unknown key; known keys: {}{}", fmt::join(requested_, ", "), suggestion(key, requested_)));
      });
  }
  faults.throw_if_any();
}

}  // namespace unstarve
