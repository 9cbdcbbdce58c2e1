#include "unstarve/storage/formats/folder/manifest_rows.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "unstarve/core/json.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/source/folder_scan.h"
#include "unstarve/storage/source/python_json.h"

namespace unstarve {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 9> kPathNames = {"path",  "file",       "filename", "file_name", "filepath",
                                                        "image", "image_path", "img",      "img_path"};
constexpr std::array<std::string_view, 7> kLabelNames = {"label",    "class",  "class_name", "cls",
                                                         "category", "target", "y"};
constexpr std::array<std::string_view, 3> kSplitNames = {"split", "subset", "partition"};
// A longer row is assumed to have an unclosed quote. The limit bounds the work for a file of such rows.
constexpr std::size_t kMaxQuotedRowBytes = std::size_t{16} << 10;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";  // UTF-8 byte order mark
  if (text.substr(0, kMark.size()) == kMark) text.remove_prefix(kMark.size());
  return text;
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r") == std::string_view::npos; }

// Removes surrounding blanks.
std::string trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return std::string(text.substr(begin, text.find_last_not_of(" \t") + 1 - begin));
}

bool equals_ignoring_case(std::string_view name, std::string_view lower) {
  return name.size() == lower.size() && ends_in(name, lower);
}

// Reads the records of a CSV text in order.
class CsvReader {
 public:
  CsvReader(std::string_view text, char separator) : rest_(text), separator_(separator) {}

  // Returns false at the end. `closed` is false if a quote is not closed; only its line is skipped then.
  bool next(std::vector<std::string>& fields, bool& closed) {
    if (rest_.empty()) return false;
    line_ = next_line_;
    const std::string_view whole = rest_;
    const std::uint64_t first = next_line_;
    closed = take_record(fields);
    if (closed) return true;
    rest_ = whole.substr(std::min(whole.find('\n'), whole.size() - 1) + 1);
    next_line_ = first + 1;
    return true;
  }
  [[nodiscard]] std::uint64_t line() const noexcept { return line_; }

 private:
  bool take_record(std::vector<std::string>& fields) {
    fields.clear();
    least_left_ = rest_.size() - std::min(rest_.size(), kMaxQuotedRowBytes);
    for (;;) {
      fields.emplace_back();
      if (!take_field(fields.back())) return false;
      if (rest_.empty()) return true;
      const char end = rest_.front();
      rest_.remove_prefix(1);
      if (end == separator_) continue;
      ++next_line_;
      return true;
    }
  }

  // Reads up to the separator or the end of the line; without surrounding blanks, except those in quotes. Returns false
  // if a quote is not closed.
  bool take_field(std::string& field) {
    const std::size_t text = rest_.find_first_not_of(separator_ == '\t' ? " " : " \t");
    if (text != std::string_view::npos && rest_[text] == '"') rest_.remove_prefix(text);
    const bool quoted = !rest_.empty() && rest_.front() == '"';
    if (quoted) {
      rest_.remove_prefix(1);
      for (;;) {
        const std::size_t quote = rest_.substr(0, kMaxQuotedRowBytes).find('"');
        if (quote == std::string_view::npos || rest_.size() - quote < least_left_) return false;
        next_line_ += static_cast<std::uint64_t>(
            std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(quote), '\n'));
        field += rest_.substr(0, quote);
        rest_.remove_prefix(quote + 1);
        if (rest_.empty() || rest_.front() != '"') break;
        field += '"';
        rest_.remove_prefix(1);
      }
    }
    const std::size_t end = std::min(rest_.find_first_of(std::string{separator_, '\n'}), rest_.size());
    std::string_view plain = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (plain.ends_with('\r') && (rest_.empty() || rest_.front() == '\n')) plain.remove_suffix(1);
    field += quoted ? plain.substr(0, plain.find_last_not_of(" \t") + 1) : trimmed(plain);
    return true;
  }

  std::string_view rest_;
  char separator_;
  std::size_t least_left_ = 0;  // smallest size of rest_ at which a quoted row is within kMaxQuotedRowBytes
  std::uint64_t line_ = 1;
  std::uint64_t next_line_ = 1;
};

struct CsvLayout {
  char separator = ',';
  bool header = true;
  std::size_t path = 0;
  std::size_t label = kNone;
  std::size_t split = kNone;
};

template <std::size_t n>
std::size_t find_column(const std::vector<std::string>& fields, const std::string& requested,
                        const std::array<std::string_view, n>& names) {
  for (const std::string_view name : names) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (requested.empty() ? equals_ignoring_case(fields[i], name) : fields[i] == requested) return i;
    }
  }
  return kNone;
}

std::optional<CsvLayout> csv_layout(std::string_view text, const ManifestColumns& columns) {
  for (const char separator : {',', '\t', ';'}) {
    std::vector<std::string> fields;
    bool closed = false;
    if (!CsvReader(text, separator).next(fields, closed) || !closed) continue;
    std::transform(fields.begin(), fields.end(), fields.begin(), trimmed);
    CsvLayout layout{separator, true, find_column(fields, columns.path, kPathNames), kNone, kNone};
    if (layout.path != kNone) {
      if (columns.label != "none") layout.label = find_column(fields, columns.label, kLabelNames);
      layout.split = find_column(fields, "", kSplitNames);
      if (fields.size() == 1 && separator != ';') continue;  // another separator may split it
      return layout;
    }
    const bool by_position = columns.path.empty() && (columns.label.empty() || columns.label == "none");
    if (by_position && has_image_extension(fields[0])) {
      const bool label = fields.size() > 1 && columns.label.empty();
      return CsvLayout{separator, false, 0, label ? std::size_t{1} : kNone, kNone};
    }
  }
  return std::nullopt;
}

template <std::size_t n>
const json* find_key(const json& object, const std::string& requested, const std::array<std::string_view, n>& names) {
  if (!requested.empty()) {
    const auto found = object.find(requested);
    return found == object.end() ? nullptr : &*found;
  }
  for (const std::string_view name : names) {
    for (auto item = object.begin(); item != object.end(); ++item) {
      if (equals_ignoring_case(item.key(), name)) return &*item;
    }
  }
  return nullptr;
}

void take_json(std::string_view line, const ManifestColumns& columns, ManifestRow& row) {
  const json object = try_parse_python_json(line);
  if (!object.is_object()) {
    row.problem = "not a JSON object";
    return;
  }
  const json* const path = find_key(object, columns.path, kPathNames);
  if (path == nullptr || !path->is_string() || path->get_ref<const std::string&>().empty()) {
    row.problem = "no path (a string under the key '" + (columns.path.empty() ? "path" : columns.path) + "')";
    return;
  }
  row.path = path->get<std::string>();
  const json* const label = columns.label == "none" ? nullptr : find_key(object, columns.label, kLabelNames);
  if (label != nullptr && label->is_string())
    row.label = trimmed(label->get_ref<const std::string&>());
  else if (label != nullptr && label->is_boolean())
    row.label = label->get<bool>() ? "1" : "0";
  else if (label != nullptr && !label->is_null())
    row.label = json_text(*label);
  const json* const split = find_key(object, "", kSplitNames);
  if (split != nullptr && split->is_string()) row.split = trimmed(split->get_ref<const std::string&>());
}

void parse_json_lines(std::string_view text, const ManifestColumns& columns,
                      const std::function<void(const ManifestRow&)>& visit) {
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (is_blank(line)) continue;
    ManifestRow row;
    row.line = number;
    take_json(line, columns, row);
    visit(row);
  }
}

void parse_csv(std::string_view text, const ManifestColumns& columns,
               const std::function<void(const ManifestRow&)>& visit) {
  const std::optional<CsvLayout> layout = csv_layout(text, columns);
  if (!layout) return;
  CsvReader reader(text, layout->separator);
  std::vector<std::string> fields;
  bool closed = false;
  if (layout->header) (void)reader.next(fields, closed);
  while (reader.next(fields, closed)) {
    if (closed && fields.size() == 1 && is_blank(fields[0])) continue;
    ManifestRow row;
    row.line = reader.line();
    const auto field = [&](std::size_t column) { return column < fields.size() ? fields[column] : std::string(); };
    if (!closed) {
      row.problem = "a quote is not closed";
    } else if (field(layout->path).empty()) {
      row.problem = "no path (" + std::to_string(fields.size()) + " fields)";
    } else {
      row.path = field(layout->path);
      row.label = trimmed(field(layout->label));
      row.split = trimmed(field(layout->split));
    }
    visit(row);
  }
}

}  // namespace

std::optional<ManifestKind> manifest_kind(std::string_view text, const ManifestColumns& columns) {
  text = without_byte_order_mark(text);
  const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size()));
  if (line.empty() || line.find('\0') != std::string_view::npos) return std::nullopt;
  if (line.front() == '{') {
    const json object = try_parse_python_json(line);
    const bool path = object.is_object() && find_key(object, columns.path, kPathNames) != nullptr;
    return path ? std::optional(ManifestKind::kJsonLines) : std::nullopt;
  }
  return csv_layout(text, columns) ? std::optional(ManifestKind::kCsv) : std::nullopt;
}

std::vector<std::string> manifest_columns(std::string_view text, const ManifestColumns& columns) {
  text = without_byte_order_mark(text);
  const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size()));
  std::vector<std::string> names;
  if (line.empty() || line.find('\0') != std::string_view::npos) return names;
  if (line.front() == '{') {
    const json object = try_parse_python_json(line);
    if (!object.is_object()) return names;
    for (const auto& item : object.items()) names.push_back(item.key());
    return names;
  }
  const std::optional<CsvLayout> layout = csv_layout(text, columns);
  for (const char separator : {',', '\t', ';'}) {
    std::vector<std::string> fields;
    bool closed = false;
    if (layout && separator != layout->separator) continue;
    if (!CsvReader(text, separator).next(fields, closed) || !closed || fields.size() <= names.size()) continue;
    names = std::move(fields);
  }
  std::transform(names.begin(), names.end(), names.begin(), trimmed);
  return names;
}

void parse_manifest(ManifestKind kind, std::string_view text, const ManifestColumns& columns,
                    const std::function<void(const ManifestRow& row)>& visit) {
  text = without_byte_order_mark(text);
  if (kind == ManifestKind::kJsonLines)
    parse_json_lines(text, columns, visit);
  else
    parse_csv(text, columns, visit);
}

}  // namespace unstarve
