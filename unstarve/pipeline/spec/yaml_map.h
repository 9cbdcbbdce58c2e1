#pragma once
// A strict reader of a YAML mapping: values are typed, keys must be known and unique.
//
// Messages contain the path of the node and its line ("pipeline.batch.size: line 3: ..."), the value found and the
// value expected. finish() reports keys that were never requested, so no unknown key is ignored.
//
// Threads: one thread. Failure: Error(kInput).

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace unstarve {

class YamlMap {
 public:
  // Parses a whole document. `name` (for example the file's path) identifies it in messages.
  static YamlMap parse(const std::string& text, const std::string& name);

  [[nodiscard]] bool has(const std::string& key) const;
  [[nodiscard]] bool is_map(const std::string& key) const { return has(key) && node_[key].IsMap(); }
  // Whether the value of `key` is text and not a number.
  [[nodiscard]] bool is_word(const std::string& key) const;
  // Reads `key` into `value` if present.
  void get(const std::string& key, std::string& value);
  void get(const std::string& key, bool& value);
  void get(const std::string& key, int& value);
  void get(const std::string& key, std::uint64_t& value);
  void get(const std::string& key, double& value);
  // One number or a list of numbers.
  void get(const std::string& key, std::vector<double>& value);
  void get(const std::string& key, std::vector<std::string>& value);
  template <class T>
  void get(const std::string& key, std::optional<T>& value) {
    T found{};
    get(key, found);
    if (has(key)) value = std::move(found);
  }

  // The mapping under `key`; empty if absent.
  [[nodiscard]] YamlMap map(const std::string& key);
  // A list of one-key mappings ("- name: {...}"), as (name, mapping under it).
  [[nodiscard]] std::vector<std::pair<std::string, YamlMap>> named_list(const std::string& key);
  // A list of mappings.
  [[nodiscard]] std::vector<YamlMap> maps(const std::string& key);
  // Throws for duplicate keys.
  [[nodiscard]] std::vector<std::string> keys() const;

  // Throws for all keys that were never requested, with a list of the known keys, and for duplicate ones.
  void finish() const;
  // Throws an Error(kInput) about `key` of this mapping.
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;
  // The location of a node such as "batch.size" or "mix[1].path", for messages: "p.yaml.batch.size: line 3". The line
  // is the one of its deepest existing part; omitted if no part exists.
  [[nodiscard]] std::string location(const std::string& node) const;

 private:
  YamlMap(const YAML::Node& node, std::string path);
  void check_unique() const;
  // The list under `key`; empty if absent.
  YAML::Node list(const std::string& key);
  template <class T>
  void read(const std::string& key, T& value, const char* expected);
  template <class T>
  void read_list(const std::string& key, std::vector<T>& value, const char* expected, const char* element);

  YAML::Node node_;
  std::string path_;
  std::set<std::string> requested_;
  std::vector<std::string> duplicates_;  // messages
};

}  // namespace unstarve
