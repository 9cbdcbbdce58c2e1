#include "unstarve/storage/formats/folder/manifest.h"

#include <fcntl.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/dataset/label_notices.h"
#include "unstarve/storage/formats/folder/image_file.h"
#include "unstarve/storage/index/record_format.h"
#include "unstarve/storage/remote/remote.h"
#include "unstarve/storage/source/class_text.h"
#include "unstarve/storage/source/folder_scan.h"
#include "unstarve/storage/source/safe_path.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {
namespace {

constexpr std::size_t kMaxFirstRowBytes = std::size_t{16} << 20;  // of JSON lines, to recognise them
constexpr auto kWithoutLabel = static_cast<std::uint32_t>(-1);

// Accepts "2" and also "2.0", which spreadsheets write for columns with empty cells.
std::optional<std::int64_t> whole_number(std::string_view text) {
  const std::size_t point = text.find('.');
  const bool zeros =
      point != std::string_view::npos && text.find_first_not_of('0', point + 1) == std::string_view::npos;
  if (zeros) text = text.substr(0, point);
  return parse_number<std::int64_t>(text);
}

// Why the path is rejected; empty if it is accepted.
std::string problem_of_path(const std::string& path) {
  if (path.find('\0') != std::string::npos) return "the path contains a NUL";
  if (path[0] == '/' || is_url(path) || !leaves_folder(path)) return "";
  return "the path '" + path + "' leaves the folder through '..'. Pass the parent folder as #root=FOLDER, or write " +
         "absolute paths.";
}

std::vector<std::uint8_t> read_list(const ByteSource& file) {
  if (file.size() > kMaxManifestBytes) {
    throw input_error("open {}: {} bytes; expected a manifest of at most {}", file.name(), file.size(),
                      kMaxManifestBytes);
  }
  std::vector<std::uint8_t> text(static_cast<std::size_t>(file.size()));
  file.read(0, text);
  return text;
}

// Throws because the requested label column does not exist in `text`.
[[noreturn]] void reject_label(const std::string& name, const ManifestColumns& columns, std::string_view text) {
  throw argument_error("open {}: no column '{}' for the label; available: {}. Use #label=none to read no labels.", name,
                       columns.label, join(manifest_columns(text, columns)));
}

bool has_column(const ManifestColumns& columns, std::string_view text) {
  const std::vector<std::string> names = manifest_columns(text, columns);
  return std::find(names.begin(), names.end(), columns.label) != names.end();
}

}  // namespace

// The distinct labels of all rows, collected to find out whether all of them are numbers.
struct Manifest::Labels {
  std::vector<std::string> texts;                          // in the order of their first rows
  std::vector<std::optional<std::int64_t>> numbers;        // the value of each text that is a number
  std::unordered_map<std::string, std::uint32_t> indexes;  // of each text in `texts`
  std::uint64_t number_rows = 0;
  std::uint64_t name_rows = 0;
  std::string first_name;   // "cats.csv line 7: 'cat'": the first row whose label is not a number
  std::string first_other;  // "the float 0.5 in cats.csv line 7": the first row whose label is not a class

  // Returns the index of the label in `texts`.
  std::uint32_t take(const ManifestRow& row, const std::string& file) {
    const auto [known, added] = indexes.try_emplace(row.label, static_cast<std::uint32_t>(texts.size()));
    if (added) {
      texts.push_back(row.label);
      numbers.push_back(whole_number(row.label));
      if (const std::string other = numbers.back() ? "" : not_a_class(row.label); !other.empty() && first_other.empty())
        first_other = fmt::format("{} in {} line {}", other, file, row.line);
    }
    const bool number = numbers[known->second].has_value();
    ++(number ? number_rows : name_rows);
    if (!number && name_rows == 1) first_name = fmt::format("{} line {}: '{}'", file, row.line, row.label);
    return known->second;
  }
};

Manifest::Manifest(const std::string& name, std::span<const ManifestFile> files, const ManifestColumns& columns,
                   const std::string& split, ManifestClasses classes)
    : fields_{{"image", FieldKind::kEncodedImage}} {
  Labels labels;
  std::vector<std::uint32_t> label_of;
  std::set<std::string> splits;
  const bool label_by_name = !columns.label.empty() && columns.label != "none";
  const auto take = [&](const ManifestRow& row) {
    if (row.problem.empty() && !row.split.empty()) splits.insert(row.split);
    const bool labelled = row.problem.empty() && !row.label.empty();
    const std::uint32_t label = labelled ? labels.take(row, lists_.back().name) : kWithoutLabel;
    if (!split.empty() && row.problem.empty() && row.split != split) return;
    add(row);
    label_of.push_back(label);
  };
  for (const ManifestFile& file : files) {
    List list{file.bytes->name(), file.root, FileDescriptor(), paths_.size()};
    const std::string folder = file.root.empty() ? "." : file.root;
    if (!is_url(file.root)) list.folder = open_folder(AT_FDCWD, folder, folder);
    lists_.push_back(std::move(list));
    const std::vector<std::uint8_t> text = read_list(*file.bytes);
    if (text.empty() && files.size() > 1) continue;
    const std::optional<ManifestKind> kind = manifest_kind(as_text(text), columns);
    if (!kind) {
      throw input_error(
          "open {}: {} is not a manifest like the other files; expected CSV with a path column or JSON lines with a "
          "path key",
          name, file.bytes->name());
    }
    const bool has_label = !label_by_name || has_column(columns, as_text(text));
    if (!has_label && *kind == ManifestKind::kCsv) reject_label(lists_.back().name, columns, as_text(text));
    parse_manifest(*kind, as_text(text), columns, take);
    // JSON rows may have different keys: all rows must be read before the label is known to be missing.
    if (!has_label && &file == &files.back() && labels.texts.empty())
      reject_label(lists_.back().name, columns, as_text(text));
  }
  if (!split.empty() && splits.count(split) == 0) {
    throw argument_error("open {}: no row of the split '{}'; {}", name, split,
                         splits.empty() ? "there is no split column" : "available: " + join(splits));
  }
  if (paths_.empty()) throw input_error("open {}: no image listed", name);
  const bool by_labels = classes == ManifestClasses::kByLabels;
  if (by_labels && !labels.first_other.empty()) {
    missing_labels_ = labels.first_other;
  } else if (labels.texts.empty() && columns.label != "none") {
    missing_labels_ = "the columns " + join(manifest_columns(as_text(read_list(*files.front().bytes)), columns));
  }
  if (by_labels && labels.first_other.empty() && labels.name_rows > 0 && labels.name_rows < labels.number_rows) {
    throw input_error(
        "open {}: the label is a class number in {} rows and a name in {} (first: {}); expected numbers only or names "
        "only. Correct the manifest, or use #classes=names to read all labels as names.",
        name, labels.number_rows, labels.name_rows, labels.first_name);
  }
  if (!by_labels) labels.numbers.assign(labels.texts.size(), std::nullopt);
  number_classes(labels, label_of);
  if (by_labels && labels.name_rows > labels.number_rows)
    report_text_labels(lists_.back().name, "manifest", classes_, paths_.size());
}

void Manifest::add(const ManifestRow& row) {
  const std::string problem = row.problem.empty() ? problem_of_path(row.path) : row.problem;
  if (!problem.empty()) problems_.emplace(paths_.size(), fmt::format("line {}: {}", row.line, problem));
  paths_.push_back(pool_.size());
  if (problem.empty()) pool_.insert(pool_.end(), row.path.begin(), row.path.end());
  pool_.push_back('\0');
}

void Manifest::number_classes(const Labels& labels, const std::vector<std::uint32_t>& label_of) {
  labels_.assign(paths_.size(), -1);
  if (!missing_labels_.empty() ||
      std::all_of(label_of.begin(), label_of.end(), [](std::uint32_t label) { return label == kWithoutLabel; }))
    return;
  fields_.push_back({"label", FieldKind::kLabel});
  std::vector<std::int64_t> numbers;
  if (std::all_of(labels.numbers.begin(), labels.numbers.end(),
                  [](const auto& number) { return number.has_value(); })) {
    std::int64_t largest = -1;
    for (const std::optional<std::int64_t>& number : labels.numbers) {
      numbers.push_back(*number);
      largest = *number < kMaxClasses ? std::max(largest, *number) : largest;
    }
    for (std::int64_t number = 0; number <= largest; ++number) classes_.push_back(std::to_string(number));
  } else {
    classes_ = labels.texts;
    std::sort(classes_.begin(), classes_.end());
    for (const std::string& label : labels.texts) {
      numbers.push_back(std::lower_bound(classes_.begin(), classes_.end(), label) - classes_.begin());
    }
  }
  for (std::uint64_t id = 0; id < labels_.size(); ++id) {
    if (label_of[id] == kWithoutLabel) {
      problems_.try_emplace(id,
                            "no label, although other rows have one. Use #label=none to read no labels, or skip bad "
                            "samples to leave such rows out");
    } else if (numbers[label_of[id]] < 0 || numbers[label_of[id]] >= kMaxClasses) {
      problems_.try_emplace(id, fmt::format("label {} is not a class number; expected 0 to {}. Use "
                                            "#label=none to read no labels.",
                                            labels.texts[label_of[id]], kMaxClasses - 1));
    } else {
      labels_[id] = static_cast<std::int32_t>(numbers[label_of[id]]);
    }
  }
}

const Manifest::List& Manifest::list_of(std::uint64_t id) const noexcept {
  const auto after = std::upper_bound(lists_.begin(), lists_.end(), id,
                                      [](std::uint64_t requested, const List& list) { return requested < list.first; });
  return *(after - 1);
}

RecordLocation Manifest::record_location(std::uint64_t id) const {
  const std::string path = pool_.data() + paths_[id];
  const List& list = list_of(id);
  const std::uint64_t number = id - list.first;
  if (path.empty()) return {.file = list.name, .number = number};
  const bool absolute = path[0] == '/' || is_url(path);
  return {.file = shown_name(absolute || list.root.empty() ? path : list.root + "/" + path),
          .number = number,
          .list = list.name};
}

bool Manifest::remote(const List& list, const char* path) noexcept {
  return is_url(path) || (path[0] != '/' && is_url(list.root));
}

int Manifest::reads_in_flight() const {
  bool any_remote = false;
  const int reads = useful_reads(size(), [&](std::uint64_t id) {
    const char* const path = pool_.data() + paths_[id];
    if (problems_.contains(id)) return true;
    if (remote(list_of(id), path)) return !(any_remote = true);
    const ImageFile image = open_image_file({list_of(id).folder.get(), path, this, id});
    return in_page_cache(image.file.get(), image.bytes / 2);
  });
  return any_remote ? kServerReads : reads;
}

void Manifest::read(std::uint64_t id, RecordBuffer& record) const {
  if (!problems_.empty()) {
    const auto problem = problems_.find(id);
    if (problem != problems_.end()) throw input_error("read {}: {}", location(id), problem->second);
  }
  const char* const path = pool_.data() + paths_[id];
  const List& list = list_of(id);
  std::span<const std::uint8_t> bytes;
  if (remote(list, path)) {
    const bool absolute = is_url(path);
    bytes = read_remote_image({absolute ? path : url_below(list.root, path), absolute}, *this, id, record.storage);
  } else {
    bytes = read_image_file({list.folder.get(), path, this, id}, record.storage);
  }
  record.values.resize(fields_.size());
  record.values[0] = {bytes, {}, 0};
  if (fields_.size() > 1) record.values[1] = {{}, {}, labels_[id]};
}

namespace {

ManifestColumns columns_of(SourceOptions& options) {
  return {options.take_text("path", ""), options.take_text("label", "")};
}

// The folder of a path or URL, without a trailing '/'.
std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/', is_url(path) ? path.find('?') : std::string::npos);
  return slash == std::string::npos ? "" : slash == 0 ? "/" : path.substr(0, slash);
}

// The beginning of the first file: a row of JSON is read up to its end, because it may hold captions or vectors.
std::string beginning_of(const Source& source) {
  std::string text(as_text(source.head));
  if (text.find('{') != text.find_first_not_of("\xEF\xBB\xBF")) return text;
  while (text.find('\n') == std::string::npos && text.size() < source.first->size() &&
         text.size() < kMaxFirstRowBytes) {
    std::vector<std::uint8_t> more(
        static_cast<std::size_t>(std::min<std::uint64_t>(text.size(), source.first->size() - text.size())));
    source.first->read(text.size(), more);
    text += as_text(more);
  }
  return text;
}

}  // namespace

bool recognises_manifest(const Source& source) {
  if (source.files.empty() || source.compression != Compression::kNone) return false;
  SourceOptions options = source.options;
  try {
    return manifest_kind(beginning_of(source), columns_of(options)).has_value();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kCancelled) throw;
    return true;  // opening it reports why it cannot be read
  }
}

std::shared_ptr<const Dataset> open_manifest(const Source& source, const std::string& split) {
  SourceOptions options = source.options;
  const ManifestColumns columns = columns_of(options);
  const std::string root = options.take_text("root", "");
  const ManifestClasses classes = options.take_class_names() ? ManifestClasses::kNames : ManifestClasses::kByLabels;
  options.reject_unknown();
  std::vector<ManifestFile> files;
  for (const std::string& path : source.files) {
    files.push_back(
        {path == source.first_path ? source.first : open_bytes(path), root.empty() ? folder_of(path) : root});
  }
  const std::string name = files.size() == 1 ? source.first->name() : shown_name(source.text);
  return std::make_shared<Manifest>(name, files, columns, split, classes);
}

}  // namespace unstarve
