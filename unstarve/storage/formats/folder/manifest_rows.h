#pragma once
// The rows of a manifest, a text file that lists images with their labels: a pure parser of CSV and JSON lines.
//
//   path,label,split                   CSV as RFC 4180 has it: commas (or tabs, or semicolons), quotes, a header
//   cats/1.jpg,cat,train
//
//   cats/1.jpg,cat                     CSV without a header: path, then label
//
//   {"path": "cats/1.jpg", "label": 0, "split": "train"}                    JSON lines
//
// Columns:   path: path, file, filename, file_name, filepath, image, image_path, img, img_path; label: label, class,
//            class_name, cls, category, target, y; split: split, subset, partition; in any case, the first that is
//            there. A header is told by a column for the path, none by a first field that ends as an image file does.
// Blanks:    around a label, a split or a column's name, and before a quote, are none of it; a path stands as it is.
// Damage:    a row that is none (a quote that does not close, too few fields, no JSON object, no path) has its number
//            and what is wrong with it; the rows behind it are read on.
// Threads:   pure functions.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

struct ManifestColumns {
  std::string path;   // a name; "" by the rule above
  std::string label;  // the same; "none" for no label
};

struct ManifestRow {
  std::uint64_t line = 1;  // where it begins, from 1
  std::string path;
  std::string label;  // empty for none
  std::string split;
  std::string problem;  // why it cannot be read; then the other fields say nothing
};

enum class ManifestKind { kCsv, kJsonLines };

// Whether `text` (the beginning of a file) is a manifest, and of which kind.
[[nodiscard]] std::optional<ManifestKind> manifest_kind(std::string_view text, const ManifestColumns& columns);

// The columns of `text`, for messages: the fields of its first line as CSV, or the keys of the JSON object there. Empty
// where that is neither.
[[nodiscard]] std::vector<std::string> manifest_columns(std::string_view text, const ManifestColumns& columns);

// Calls `visit` for every row that is not empty, in order; the row is reused.
void parse_manifest(ManifestKind kind, std::string_view text, const ManifestColumns& columns,
                    const std::function<void(const ManifestRow& row)>& visit);

}  // namespace unstarve
