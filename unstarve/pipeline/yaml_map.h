#pragma once
// A mapping of a YAML file, read strictly: every value is typed and every key must be known.
//
// Messages carry the path of the offending node ("pipeline.batch.size: ...", with the line), what was found and what was
// expected. Keys that were never asked for are errors at finish(), so that a misspelt key cannot be ignored silently.
// Threads: one thread. Failure: Error(kInput).

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace unstarve {

class YamlMap {
 public:
  // Parses a whole document. `name` stands for it in messages (a file's path).
  static YamlMap parse(const std::string& text, const std::string& name);

  [[nodiscard]] bool has(const std::string& key) const;
  // Reads `key` into `value` when present.
  void get(const std::string& key, std::string& value);
  void get(const std::string& key, bool& value);
  void get(const std::string& key, int& value);
  void get(const std::string& key, std::uint64_t& value);
  void get(const std::string& key, double& value);
  // One number or a list of numbers.
  void get(const std::string& key, std::vector<double>& value);

  // The mapping under `key`; an empty one when absent.
  [[nodiscard]] YamlMap map(const std::string& key);
  // A list of one-key mappings ("- name: {...}"), as (name, mapping under it).
  [[nodiscard]] std::vector<std::pair<std::string, YamlMap>> named_list(const std::string& key);
  [[nodiscard]] std::vector<std::string> keys() const;

  // Throws for the first key that nobody asked for, listing the known ones.
  void finish() const;
  // An Error(kInput) about `key` of this mapping.
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;

 private:
  YamlMap(YAML::Node node, std::string path);
  template <class T>
  void read(const std::string& key, T& value, const char* expected);

  YAML::Node node_;
  std::string path_;
  std::set<std::string> asked_;
};

}  // namespace unstarve
