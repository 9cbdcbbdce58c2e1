#pragma once
// The description and the range of each node of a spec, for the schema.
//
// To add a field to spec_yaml.cpp, also add a row to spec_fields.cpp; spec_schema_test.cpp compares the two, and the
// ranges with check_spec().

#include <optional>
#include <span>
#include <string_view>

namespace unstarve {

struct SpecField {
  std::string_view path;  // "batch.size"
  const char* description;
  // Range of a number, or of each number in a list; default: the range of the type.
  std::optional<double> minimum{}, maximum{};
  std::optional<double> exclusive_minimum{};  // exclusive minimum
  bool whole = false;                         // the numbers of a list are integers
  const char* pattern = nullptr;              // regular expression of a text
};

[[nodiscard]] std::span<const SpecField> spec_fields();
// Null if the path has no row.
[[nodiscard]] const SpecField* find_spec_field(std::string_view path);

}  // namespace unstarve
