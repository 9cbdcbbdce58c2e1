#pragma once
// A mapping of a YAML file, read strictly: every value is typed, every key must be known and stands once.
//
// Messages carry the path of the offending node ("pipeline.batch.size: ...", with the line), what was found and what
// was expected. Keys that were never asked for are errors at finish(), so that a misspelt key cannot be ignored
// silently. What a reader knows can be had of the reader itself: it is run over describing(), which has no keys and
// writes down what it is asked for. So a schema cannot miss a key.
// Threads: one thread. Failure: Error(kInput).

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace unstarve {

// A key that a reader asks for.
struct YamlKey {
  struct Mapping {};
  struct NamedList {};
  struct MapList {};
  std::string path;  // "batch.size"
  // Its type, with what it is when absent.
  std::variant<Mapping, NamedList, MapList, std::string, bool, int, std::uint64_t, double, std::vector<double>,
               std::vector<std::string>>
      value;
  std::vector<std::string> choices{};  // all that the text may be; empty: anything
  bool optional = false;               // absent is something of its own
  std::size_t count = 0;               // how many numbers the list has; 0: any number, or one without a list
};

class YamlMap {
 public:
  // Parses a whole document. `name` stands for it in messages (a file's path).
  static YamlMap parse(const std::string& text, const std::string& name);

  // A mapping without keys that writes the keys it is asked for into `keys`, which must outlive it.
  static YamlMap describing(std::vector<YamlKey>& keys);

  [[nodiscard]] bool has(const std::string& key) const;
  [[nodiscard]] bool is_map(const std::string& key) const { return has(key) && node_[key].IsMap(); }
  // Whether `key` is a text that is no number.
  [[nodiscard]] bool is_word(const std::string& key) const;
  // Reads `key` into `value` when present.
  void get(const std::string& key, std::string& value);
  void get(const std::string& key, bool& value);
  void get(const std::string& key, int& value);
  void get(const std::string& key, std::uint64_t& value);
  void get(const std::string& key, double& value);
  // One number or a list of numbers.
  void get(const std::string& key, std::vector<double>& value);
  // For a description: what else the reader expects of the key that it asked for last.
  void only(std::vector<std::string> choices);
  void only(std::size_t count);

  void get(const std::string& key, std::vector<std::string>& value);
  template <class T>
  void get(const std::string& key, std::optional<T>& value) {
    T given{};
    get(key, given);
    if (has(key)) value = std::move(given);
    if (described_ != nullptr) described_->back().optional = true;
  }

  // The mapping under `key`; an empty one when absent.
  [[nodiscard]] YamlMap map(const std::string& key);
  // A list of one-key mappings ("- name: {...}"), as (name, mapping under it).
  [[nodiscard]] std::vector<std::pair<std::string, YamlMap>> named_list(const std::string& key);
  // A list of mappings.
  [[nodiscard]] std::vector<YamlMap> maps(const std::string& key);
  [[nodiscard]] std::vector<std::string> keys() const;

  // Throws for the first key that nobody asked for, listing the known ones.
  void finish() const;
  // An Error(kInput) about `key` of this mapping.
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;
  // Where "batch.size" or "mix[1].path" stands, seen from here, for messages: "p.yaml.batch.size: line 3". The line is
  // that of the deepest part of it that there is; none where there is no part of it.
  [[nodiscard]] std::string place(const std::string& node) const;

 private:
  YamlMap(YAML::Node node, std::string path);
  void describe(const std::string& key, decltype(YamlKey::value) value);
  template <class T>
  void read(const std::string& key, T& value, const char* expected);
  template <class T>
  void read_list(const std::string& key, std::vector<T>& value, const char* expected, const char* element);

  YAML::Node node_;
  std::string path_;
  std::set<std::string> asked_;
  std::vector<YamlKey>* described_ = nullptr;
};

}  // namespace unstarve
