#pragma once
// What is told of each node of a spec beyond its key and type: a description, and the range that check_spec() sets.
//
// Whoever adds a field to spec_yaml.cpp adds a row to spec_fields.cpp; spec_schema_test.cpp compares the two, and the
// ranges with check_spec().

#include <optional>
#include <span>
#include <string_view>

namespace unstarve {

struct SpecField {
  std::string_view path;  // "batch.size"
  const char* description;
  // Of numbers, or of each number of a list. Without them what the type holds.
  std::optional<double> least{}, most{};
  std::optional<double> above{};  // as least, itself left out
  bool whole = false;             // of a list's numbers
  const char* pattern = nullptr;  // of a text: the regular expression of all that it may be
};

[[nodiscard]] std::span<const SpecField> spec_fields();
// Null for a path that has no row.
[[nodiscard]] const SpecField* find_spec_field(std::string_view path);

}  // namespace unstarve
