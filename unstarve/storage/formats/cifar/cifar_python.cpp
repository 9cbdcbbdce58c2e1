#include "unstarve/storage/formats/cifar/cifar_python.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/bytes/held_bytes.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/formats/arrays/array_images.h"
#include "unstarve/storage/formats/cifar/cifar_files.h"
#include "unstarve/storage/formats/cifar/pickle.h"
#include "unstarve/storage/source/source.h"

namespace unstarve {
namespace {

constexpr CifarVersion kPython{"", &kCifar10Python, &kCifar100Python};
constexpr std::uint64_t kPixelBytes = std::uint64_t{3} * kCifarSide * kCifarSide;
constexpr std::uint64_t kMaxPickleBytes = std::uint64_t{2} << 30;  // the largest published file has 155 MB

bool begins_as_pickle(std::span<const std::uint8_t> front) {
  return front.size() >= 2 && front[0] == 0x80 && front[1] >= 2 && front[1] <= 5;
}

// The layout of a file of this name; null if the name is not a published one.
const CifarLayout* layout_of(const std::string& name) {
  if (find_cifar_10(kPython, {name}).any()) return kPython.ten;
  return find_cifar_100(kPython, {name}).any() ? kPython.hundred : nullptr;
}

bool is_published(std::string_view name) { return layout_of(std::string(name)) != nullptr; }

const PickleValue& member(const Pickle& pickle, const char* key) {
  const PickleValue* const found = pickle.find(key);
  if (found == nullptr) throw input_error("the pickle is not a dict with the key {}", key);
  return *found;
}

// The file, mapped or in memory.
std::shared_ptr<const ByteSource> open_mapped(const std::string& path) {
  std::shared_ptr<const ByteSource> file = open_bytes(path);
  if (file->size() > kMaxPickleBytes) {
    throw input_error("open {}: {} bytes; expected a CIFAR pickle of at most {}", file->name(), file->size(),
                      kMaxPickleBytes);
  }
  if (!file->mapped().empty() || file->size() == 0) return file;
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(file->size()));
  file->read(0, bytes);
  return std::make_shared<HeldBytes>(*file, std::move(bytes));
}

ArrayPart open_part(const std::string& path, const CifarLayout& layout) {
  std::shared_ptr<const ByteSource> file = open_mapped(path);
  try {
    CifarBatch batch = parse_cifar_batch(file->mapped(), layout);
    if (!batch.decoded.empty()) file = std::make_shared<HeldBytes>(*file, std::move(batch.decoded));
    const bool view = batch.pixels.data() != nullptr;
    const std::uint64_t offset = view ? static_cast<std::uint64_t>(batch.pixels.data() - file->mapped().data()) : 0;
    return {file, offset, std::move(batch.labels), file->name()};
  } catch (const Error& error) {
    throw Error(error.kind(), "open " + file->name() + ": " + error.what());
  }
}

std::vector<std::string> class_names(const std::string& first_file, const CifarLayout& layout) {
  const CifarPath path(first_file);
  const std::string name = &layout == kPython.ten ? "batches.meta" : "meta";
  if (!exists_next_to(path, name)) return numbered_classes(layout);
  const std::shared_ptr<const ByteSource> file = open_mapped(path.folder + name);
  try {
    return parse_cifar_names(file->mapped(), layout);
  } catch (const Error& error) {
    throw Error(error.kind(), "read " + file->name() + ": " + error.what());
  }
}

// The named files of a split.
CifarSelection select_named(const Source& source, const std::string& split) {
  CifarSelection selection;
  const std::string shown = "open " + shown_name(source.text) + ": ";
  for (const std::string& file : source.files) {
    const std::string name = CifarPath(file).name;
    const CifarLayout* const layout = layout_of(name);
    if (layout == nullptr || (selection.layout != nullptr && layout != selection.layout)) {
      throw input_error("{}{} is not a file of the same dataset as {}. Pass only such files, or their folder.", shown,
                        shown_name(file), shown_name(source.first_path));
    }
    selection.layout = layout;
    if (split.empty() || split == (name.starts_with("test") ? "test" : "train")) selection.files.push_back(file);
  }
  if (!selection.files.empty()) return selection;
  throw argument_error("{}no file of the split '{}'. Pass the folder.", shown, split);
}

}  // namespace

CifarBatch parse_cifar_batch(std::span<const std::uint8_t> bytes, const CifarLayout& layout) {
  const Pickle pickle(bytes);
  const PickleValue& data = member(pickle, "data");
  const char* const key = layout.classes == kCifar10Python.classes ? "labels" : "fine_labels";
  const PickleValue& labels = member(pickle, key);
  CifarBatch batch;
  if (labels.kind == PickleValue::Kind::kList) {
    for (const std::uint32_t index : labels.items) {
      const PickleValue& label = pickle.at(index);
      const bool is_class =
          label.kind == PickleValue::Kind::kInteger && label.integer >= 0 && label.integer < layout.classes;
      batch.labels.push_back(is_class ? static_cast<std::int32_t>(label.integer) : -1);
    }
  }
  const std::uint64_t images = batch.labels.size();
  if (images == 0) throw input_error("the value of {} is not a list of integers", key);
  const bool is_text = data.kind == PickleValue::Kind::kText;
  const bool is_array = data.kind == PickleValue::Kind::kArray && (data.name == "|u1" || data.name == "u1") &&
                        !data.column_major && data.shape == std::vector<std::uint64_t>{images, kPixelBytes};
  if (!(is_text || is_array) || data.bytes.size() != images * kPixelBytes) {
    throw input_error("the value of data is not an array of uint8 of the shape ({}, {}) for as many labels", images,
                      kPixelBytes);
  }
  const std::less_equal<> before;
  const bool view = before(bytes.data(), data.bytes.data()) &&
                    before(data.bytes.data() + data.bytes.size(), bytes.data() + bytes.size());
  if (view)
    batch.pixels = data.bytes;
  else
    batch.decoded.assign(data.bytes.begin(), data.bytes.end());
  return batch;
}

std::vector<std::string> parse_cifar_names(std::span<const std::uint8_t> bytes, const CifarLayout& layout) {
  const Pickle pickle(bytes);
  const char* const key = layout.classes == kCifar10Python.classes ? "label_names" : "fine_label_names";
  std::vector<std::string> names;
  for (const std::uint32_t index : member(pickle, key).items) {
    const PickleValue& name = pickle.at(index);
    if (name.kind == PickleValue::Kind::kText) names.emplace_back(as_text(name.bytes));
  }
  if (names.size() == static_cast<std::size_t>(layout.classes)) return names;
  throw input_error("{} class names in {}; expected {}", names.size(), key, layout.classes);
}

bool recognises_cifar_python(const Source& source) {
  if (source.folder) return folder_begins(source, is_published, begins_as_pickle);
  return source.first != nullptr && is_published(CifarPath(source.first_path).name) && begins_as_pickle(source.head);
}

std::shared_ptr<const Dataset> open_cifar_python(const Source& source, const std::string& split) {
  const CifarSelection found = source.folder ? select_cifar_files(kPython, source, split) : select_named(source, split);
  std::vector<ArrayPart> parts;
  for (const std::string& file : found.files) parts.push_back(open_part(file, *found.layout));
  const ArrayShape shape{.width = kCifarSide, .height = kCifarSide, .channels = 3, .planar = true};
  return std::make_shared<ArrayImages>(found.layout->name, shape, std::move(parts),
                                       class_names(found.files.front(), *found.layout));
}

}  // namespace unstarve
