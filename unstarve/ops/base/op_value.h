#pragma once
// The value of an operation's parameter in a spec: one or more numbers ("size: 224", "scale: [0.08, 1]"),
// a word ("interpolation: bicubic", "antialias: false"), or numbers that change from epoch to epoch (schedule.h).
//
// Threads: plain data.

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace unstarve {

struct OpSchedule {
  std::map<std::uint32_t, std::vector<double>> points;  // epoch -> value from that epoch on
  bool linear = false;                                  // interpolated between the points; else steps
  double multiple = 0;                                  // interpolated values are rounded to a multiple of it; 0: not
  friend bool operator==(const OpSchedule&, const OpSchedule&) = default;
};

struct OpValue {
  std::vector<double> numbers;
  std::string word;     // if not empty, there are no numbers
  OpSchedule schedule;  // has points if there are neither numbers nor a word

  OpValue() = default;
  // Implicit, so that specs are written as {{"size", {224}}, {"interpolation", "area"}}.
  OpValue(std::initializer_list<double> values) : numbers(values) {}
  OpValue(std::vector<double> values) : numbers(std::move(values)) {}  // NOLINT(google-explicit-constructor)
  OpValue(const char* text) : word(text) {}                            // NOLINT(google-explicit-constructor)
  [[nodiscard]] bool scheduled() const { return !schedule.points.empty(); }
  friend bool operator==(const OpValue&, const OpValue&) = default;
};

using OpParams = std::map<std::string, OpValue>;

// An operation as the user requested it.
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
