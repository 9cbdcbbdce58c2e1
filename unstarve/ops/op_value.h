#pragma once
// The value of an operation's parameter as it stands in a spec: one or more numbers ("size: 224", "scale: [0.08, 1]"),
// or a word ("interpolation: bicubic", "antialias: false").

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace unstarve {

struct OpValue {
  std::vector<double> numbers;
  std::string word;  // numbers are empty then

  OpValue() = default;
  OpValue(std::initializer_list<double> values) : numbers(values) {}
  OpValue(std::vector<double> values) : numbers(std::move(values)) {}
  OpValue(const char* text) : word(text) {}
  friend bool operator==(const OpValue&, const OpValue&) = default;
};

using OpParams = std::map<std::string, OpValue>;

// An operation as the user asked for it: plain data.
struct OpSpec {
  std::string name;  // "random_resized_crop", ...
  OpParams params;
  friend bool operator==(const OpSpec&, const OpSpec&) = default;
};

// As messages and `explain` show it: "0.08,1", "bicubic". The shortest text that reads back to the same numbers.
[[nodiscard]] std::string to_text(const OpValue& value);
// " size=224 interpolation=bicubic", by name; empty without any.
[[nodiscard]] std::string to_text(const OpParams& params);

}  // namespace unstarve
