#pragma once
// Parses the rows of a manifest, a text file (CSV or JSON lines) that lists images with their labels.
//
//   path,label,split                   CSV as in RFC 4180: commas (or tabs, or semicolons), quotes, a header
//   cats/1.jpg,cat,train
//
//   cats/1.jpg,cat                     CSV without a header: path, then label
//
//   {"path": "cats/1.jpg", "label": 0, "split": "train"}                    JSON lines
//
// Columns:   path: path, file, filename, file_name, filepath, image, image_path, img, img_path; label: label, class,
//            class_name, cls, category, target, y; split: split, subset, partition. Case is ignored; the first match is
//            used. A first line with a path column is a header; a first field with an image extension means none.
// Blanks:    removed around the fields of CSV, but kept in quoted paths; and around labels, splits and column names.
// Damage:    an invalid row (unclosed quote, too few fields, not a JSON object, no path) is passed on with its line and
//            the problem; parsing continues with the next row.
// Threads:   pure functions.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

struct ManifestColumns {
  std::string path;   // a column name; "": choose by the rule above
  std::string label;  // the same; "none": no label
};

struct ManifestRow {
  std::uint64_t line = 1;  // first line of the row, counted from 1
  std::string path;
  std::string label;  // empty for none
  std::string split;
  std::string problem;  // why the row is invalid; the other fields are then unspecified
};

enum class ManifestKind { kCsv, kJsonLines };

// The kind of the manifest that begins with `text`; nullopt if it is not a manifest.
[[nodiscard]] std::optional<ManifestKind> manifest_kind(std::string_view text, const ManifestColumns& columns);

// The columns of `text`, for messages: the fields of the CSV header, or the keys of the first JSON object. Empty if the
// first line is neither.
[[nodiscard]] std::vector<std::string> manifest_columns(std::string_view text, const ManifestColumns& columns);

// Calls `visit` for every non-empty row, in order; the row is reused.
void parse_manifest(ManifestKind kind, std::string_view text, const ManifestColumns& columns,
                    const std::function<void(const ManifestRow& row)>& visit);

}  // namespace unstarve
