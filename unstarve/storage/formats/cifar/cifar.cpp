#include "unstarve/storage/formats/cifar/cifar.h"

#include <algorithm>
#include <functional>
#include <set>

#include "unstarve/core/format_error.h"
#include "unstarve/core/map_guard.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/formats/cifar/cifar_files.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {
namespace {

// The largest published file has 154 MB.
constexpr std::uint64_t kMaxRemoteBytes = std::uint64_t{2} << 30;

// Followed by kReadableAfter bytes of padding.
std::vector<std::uint8_t> read_whole(const std::string& url) {
  const std::shared_ptr<const ByteSource> file = open_bytes(url);
  if (file->size() > kMaxRemoteBytes)
    throw input_error("open {}: {} bytes; expected a CIFAR file of at most {}", file->name(), file->size(),
                      kMaxRemoteBytes);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(file->size()) + kReadableAfter);
  file->read(0, std::span(bytes).first(static_cast<std::size_t>(file->size())));
  return bytes;
}

}  // namespace

CifarRecords::CifarRecords(const CifarLayout& layout, std::span<const std::uint8_t> bytes, std::string file)
    : layout_(layout), bytes_(bytes), file_(std::move(file)) {
  const std::size_t record = layout_.record_bytes();
  if (bytes.empty()) {
    throw input_error("open {}: the file is empty; expected records of {} bytes", file_, record);
  }
  if (bytes.size() % record != 0) {
    const std::size_t whole = bytes.size() / record;
    throw input_error(
        "open {}: {} bytes, not a multiple of the {}-byte records of {}: record {} at offset {} has only {}", file_,
        bytes.size(), record, layout_.name, whole, whole * record, bytes.size() - whole * record);
  }
}

void CifarRecords::read(std::uint64_t index, RecordBuffer& record) const {
  const std::size_t offset = index * layout_.record_bytes();
  const std::uint8_t* const start = bytes_.data() + offset;
  const int label = start[layout_.label_bytes - 1];
  if (label >= layout_.classes) {
    throw input_error("read {} record {}: label {} at offset {} is out of range; expected 0 to {}", file_, index, label,
                      offset + static_cast<std::size_t>(layout_.label_bytes) - 1, layout_.classes - 1);
  }
  record.values.resize(2);
  record.values[0] = {
      {}, {start + layout_.label_bytes, kCifarSide, kCifarSide, kCifarSide, 1, kCifarSide * kCifarSide}, 0};
  record.values[1] = {{}, {}, label};
}

std::span<const std::uint8_t> CifarRecords::record(std::uint64_t index) const noexcept {
  return index < size() ? bytes_.subspan(index * layout_.record_bytes(), layout_.record_bytes())
                        : std::span<const std::uint8_t>();
}

CifarBinary::CifarBinary(const CifarLayout& layout, const std::vector<std::string>& files,
                         std::vector<std::string> names)
    : layout_(layout),
      fields_{{"image", FieldKind::kPixels}, {"label", FieldKind::kLabel}},
      classes_(std::move(names)) {
  for (const std::string& file : files) {
    if (is_url(file)) {
      remote_.push_back(read_whole(file));
      const std::size_t bytes = remote_.back().size() - kReadableAfter;
      files_.emplace_back(layout, std::span<const std::uint8_t>(remote_.back()).first(bytes), shown_name(file));
    } else {
      maps_.emplace_back(file);
      files_.emplace_back(layout, maps_.back().bytes(), file);
    }
    begin_.push_back(begin_.back() + files_.back().size());
  }
}

RecordLocation CifarBinary::record_location(std::uint64_t id) const {
  const std::size_t file = file_of(id);
  const std::uint64_t number = id - begin_[file];
  return {.file = files_[file].file(), .number = number, .offset = number * layout_.record_bytes()};
}

void CifarBinary::read(std::uint64_t id, RecordBuffer& record) const {
  const std::size_t file = file_of(id);
  check_map(files_[file].record(id - begin_[file]));
  files_[file].read(id - begin_[file], record);
}

std::optional<std::int64_t> CifarBinary::known_label(std::uint64_t id) const {
  const std::size_t file = file_of(id);
  const std::span<const std::uint8_t> record = files_[file].record(id - begin_[file]);
  const int label = record[static_cast<std::size_t>(layout_.label_bytes) - 1];
  try {
    check_map(record);
  } catch (const Error&) {
    return {};  // read() reports the loss
  }
  return label < layout_.classes ? std::optional<std::int64_t>(label) : std::nullopt;
}

// The three planes of a record are too short for the hardware prefetcher.
std::span<const std::uint8_t> CifarBinary::prefetch(std::uint64_t id) const noexcept {
  const std::size_t file = file_of(id);
  return files_[file].record(id - begin_[file]);
}

std::vector<std::string> parse_class_names(std::string_view text, int classes, const std::string& file) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (!line.empty()) names.emplace_back(line);
  }
  if (names.size() != static_cast<std::size_t>(classes)) {
    throw input_error("read {}: {} class names; expected {}", file, names.size(), classes);
  }
  return names;
}

namespace {

constexpr CifarVersion kBinary{".bin", &kCifar10, &kCifar100};

bool has(const std::vector<std::string>& files, const std::string& name) {
  return std::find(files.begin(), files.end(), name) != files.end();
}

bool is_test(const std::string& name) { return name == "test_batch.bin" || name == "test.bin"; }

bool fits(const CifarLayout& layout, std::uint64_t bytes) { return bytes > 0 && bytes % layout.record_bytes() == 0; }

bool any_published(const std::vector<std::string>& names) {
  return find_cifar_10(kBinary, names).any() || find_cifar_100(kBinary, names).any();
}

// The layout of a single file, from its published name or else from its length.
const CifarLayout& layout_of_file(const Source& source, const std::string& path, const std::string& name) {
  if (find_cifar_10(kBinary, {name}).any()) return kCifar10;
  if (find_cifar_100(kBinary, {name}).any()) return kCifar100;
  const std::uint64_t bytes = (path == source.first_path ? source.first : open_bytes(path))->size();
  const bool fits_10 = fits(kCifar10, bytes);
  if (fits_10 == fits(kCifar100, bytes)) {
    throw input_error(
        "open {}: neither the file name nor the length of {} bytes identifies CIFAR-10 (records of 3073 bytes) or "
        "CIFAR-100 (3074)",
        shown_name(path), bytes);
  }
  return fits_10 ? kCifar10 : kCifar100;
}

// Reads the class names in `folder`, which ends in '/' or is empty; `exists` checks for a file of a name.
std::vector<std::string> class_names(const std::string& folder, const CifarLayout& layout,
                                     const std::function<bool(const std::string& name)>& exists) {
  const std::string name = &layout == &kCifar10 ? "batches.meta.txt" : "fine_label_names.txt";
  if (exists(name)) {
    const std::shared_ptr<const ByteSource> file = open_bytes(folder + name);
    constexpr std::uint64_t kMaxNamesBytes = 1 << 20;
    if (file->size() > kMaxNamesBytes)
      throw input_error("read {}: {} bytes; expected a list of class names of at most {}", file->name(), file->size(),
                        kMaxNamesBytes);
    return parse_class_names(read_text(*file, file->size()), layout.classes, file->name());
  }
  return numbered_classes(layout);
}

// Opens the given files in the given order.
std::shared_ptr<const Dataset> open_files(const Source& source, const std::string& split) {
  const std::string shown = shown_name(source.text);
  const CifarLayout* layout = nullptr;
  std::vector<std::string> files, classes;
  std::set<std::string> folders;
  for (const std::string& file : source.files) {
    const CifarPath path(file);
    if (!path.name.ends_with(".bin")) {
      throw input_error("open {}: {} is not a CIFAR *.bin file like {}. Pass only such files, or their folder.", shown,
                        shown_name(file), shown_name(source.first_path));
    }
    const CifarLayout& own = layout_of_file(source, file, path.name);
    if (layout != nullptr && &own != layout) {
      throw input_error("open {}: {} is {}, {} is {}; expected one format", shown, shown_name(file), own.name,
                        shown_name(source.files.front()), layout->name);
    }
    layout = &own;
    if (folders.insert(path.folder).second) {
      std::vector<std::string> names =
          class_names(path.folder, own, [&](const std::string& name) { return exists_next_to(path, name); });
      if (!classes.empty() && names != classes) {
        throw input_error("open {}: the class names next to {} differ from those next to {}", shown, shown_name(file),
                          shown_name(source.files.front()));
      }
      classes = std::move(names);
    }
    if (split.empty() || split == (is_test(path.name) ? "test" : "train")) files.push_back(file);
  }
  if (files.empty()) {
    throw argument_error(
        "open {}: split '{}' is not available: {}. Pass the folder.", shown, split,
        source.files.size() == 1 ? "the file belongs to another split" : "none of the files belongs to that split");
  }
  return std::make_shared<CifarBinary>(*layout, files, std::move(classes));
}

}  // namespace

bool recognises_cifar(const Source& source) {
  if (source.folder) return any_published(source.listing.files);
  if (!source.first) return false;
  const CifarPath path(source.first_path);
  if (!path.name.ends_with(".bin")) return false;
  if (source.files.size() == 1 || any_published({path.name})) return true;
  return fits(kCifar10, source.first->size()) != fits(kCifar100, source.first->size());
}

std::shared_ptr<const Dataset> open_cifar(const Source& source, const std::string& split) {
  if (!source.folder) return open_files(source, split);
  const CifarSelection found = select_cifar_files(kBinary, source, split);
  const std::string folder = source.path + (source.path.ends_with('/') ? "" : "/");
  return std::make_shared<CifarBinary>(
      *found.layout, found.files,
      class_names(folder, *found.layout, [&](const std::string& name) { return has(source.listing.files, name); }));
}

}  // namespace unstarve
