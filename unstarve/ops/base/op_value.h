#pragma once
// The value of an operation's parameter as it stands in a spec: one or more numbers ("size: 224", "scale: [0.08, 1]"),
// a word ("interpolation: bicubic", "antialias: false"), or numbers that change from epoch to epoch (schedule.h).
//
// Threads: values, as any.

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace unstarve {

struct OpSchedule {
  std::map<std::uint32_t, std::vector<double>> points;  // from these epochs on
  bool linear = false;                                  // on a line between the points; else as at the one before
  double multiple = 0;                                  // that values on the line are rounded to; 0: none
  friend bool operator==(const OpSchedule&, const OpSchedule&) = default;
};

struct OpValue {
  std::vector<double> numbers;
  std::string word;     // numbers are empty then
  OpSchedule schedule;  // has points where numbers and word are empty

  OpValue() = default;
  // Implicit, so that specs are written as {{"size", {224}}, {"interpolation", "area"}}.
  OpValue(std::initializer_list<double> values) : numbers(values) {}
  OpValue(std::vector<double> values) : numbers(std::move(values)) {}  // NOLINT(google-explicit-constructor)
  OpValue(const char* text) : word(text) {}                            // NOLINT(google-explicit-constructor)
  [[nodiscard]] bool scheduled() const { return !schedule.points.empty(); }
  friend bool operator==(const OpValue&, const OpValue&) = default;
};

using OpParams = std::map<std::string, OpValue>;

// An operation as the user asked for it: plain data.
struct OpSpec {
  std::string name;  // "random_resized_crop", ...
  OpParams params;
  friend bool operator==(const OpSpec&, const OpSpec&) = default;
};

// As messages and `explain` show it: "0.08,1", "bicubic", "{0: 128, 10: 224, linear}". The shortest
// text that reads back to the same numbers.
[[nodiscard]] std::string to_text(const OpValue& value);
// " size=224 interpolation=bicubic", by name; empty without any.
[[nodiscard]] std::string to_text(const OpParams& params);

}  // namespace unstarve
