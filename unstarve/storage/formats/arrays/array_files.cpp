#include "unstarve/storage/formats/arrays/array_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <limits>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/held_bytes.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/formats/arrays/array_header.h"
#include "unstarve/storage/formats/arrays/array_images.h"
#include "unstarve/storage/source/first_bytes.h"
#include "unstarve/storage/source/source.h"
#include "unstarve/storage/source/split_names.h"

namespace unstarve {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxSide = 65535;

bool is_npy_name(std::string_view name) { return ends_in(name, ".npy"); }
bool is_idx_name(std::string_view name) {
  return name.find("images") != std::string_view::npos && name.find("idx") != std::string_view::npos;
}

// What differs between the two formats.
struct Kind {
  const char* name;
  std::size_t max_header_bytes;
  ArrayHeader (*read)(std::span<const std::uint8_t> head);
  bool (*is_name)(std::string_view name);
};
constexpr Kind kNpy{"npy", kMaxNpyHeaderBytes, read_npy_header, is_npy_name};
constexpr Kind kIdx{"idx", kMaxIdxHeaderBytes, read_idx_header, is_idx_name};

// The file length that the header declares; at most 2^64 - 1.
std::uint64_t declared_bytes(const ArrayHeader& header) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  return std::min(header.data_bytes, kMax - header.header_bytes) + header.header_bytes;
}

template <class... Args>
[[noreturn]] void reject(const std::string& file, fmt::format_string<Args...> what, Args&&... args) {
  throw input_error("open {}: {}", shown_name(file), fmt::format(what, std::forward<Args>(args)...));
}

// The file length that the header of a compressed file declares, if it may be decompressed into memory.
std::uint64_t declared_by(const Kind& kind, std::span<const std::uint8_t> front, const std::string& name) {
  std::uint64_t declared = 0;
  try {
    declared = declared_bytes(kind.read(front));
  } catch (const Error& error) {
    reject(name, "{}", error.what());
  }
  if (declared <= kMaxDecompressedBytes) return declared;
  reject(name, "the header declares {} bytes; expected at most {} in a compressed file. Decompress the file.", declared,
         kMaxDecompressedBytes);
}

// A compressed file, decompressed into memory up to the length that its header declares.
std::shared_ptr<const ByteSource> decompressed(const Kind& kind, const ByteSource& stored) {
  const auto forward = inflate_forward(stored, Compression::kGzip);
  const std::uint64_t declared = declared_by(kind, forward->at(0, kind.max_header_bytes), stored.name());
  std::vector<std::uint8_t> bytes;
  while (bytes.size() < declared) {
    const std::uint64_t left = declared - bytes.size();
    const auto piece =
        forward->at(bytes.size(), static_cast<std::size_t>(std::min<std::uint64_t>(left, kForwardPieceBytes)));
    if (piece.empty()) break;
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  if (!forward->at(bytes.size(), 1).empty()) {
    reject(stored.name(), "the header declares {} bytes, the file decompresses to more", declared);
  }
  return std::make_shared<HeldBytes>(stored, std::move(bytes));
}

std::shared_ptr<const ByteSource> open_array(const Kind& kind, const std::string& path) {
  std::shared_ptr<const ByteSource> file = open_bytes(path);
  std::array<std::uint8_t, 3> front{};
  file->read(0, std::span(front).first(std::min<std::size_t>(file->size(), front.size())));
  if (detect_compression(front) != Compression::kGzip) return file;
  return decompressed(kind, *file);
}

ArrayHeader header_of(const Kind& kind, const ByteSource& file) {
  std::vector<std::uint8_t> front(
      static_cast<std::size_t>(std::min<std::uint64_t>(kind.max_header_bytes, file.size())));
  file.read(0, front);
  try {
    ArrayHeader header = kind.read(front);
    check_length(header, file.size());
    return header;
  } catch (const Error& error) {
    reject(file.name(), "{}", error.what());
  }
}

std::string text_of(const std::vector<std::uint64_t>& shape) {
  std::string text;
  for (const std::uint64_t length : shape) text += (text.empty() ? "(" : ", ") + std::to_string(length);
  return text.empty() ? "()" : text + ")";
}

ArrayShape image_shape(const ArrayHeader& header, const std::string& file) {
  const std::vector<std::uint64_t>& shape = header.shape;
  const std::uint64_t channels = shape.size() == 4 ? shape[3] : 1;
  const bool fits = (shape.size() == 3 || shape.size() == 4) && (channels == 1 || channels == 3) &&
                    shape[1] <= kMaxSide && shape[2] <= kMaxSide;
  if (!fits || header.element_bytes != 1 || header.is_signed) {
    reject(file,
           "not an array of images: shape {} with {}-byte elements; expected uint8 (n, height, width, 1 or 3) or (n, "
           "height, width){}",
           text_of(shape), header.element_bytes,
           shape.size() == 1 ? ". If these are labels, pass the file of their images." : "");
  }
  return {static_cast<int>(shape[2]), static_cast<int>(shape[1]), static_cast<int>(channels)};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t offset = text.rfind(from);
  return offset == std::string::npos ? text : text.replace(offset, from.size(), to);
}

// File names that the labels of `images` may have, in order of preference.
std::vector<std::string> label_names(const std::string& images) {
  const std::size_t dot = images.rfind('.');
  const std::string stem = images.substr(0, dot), ending = dot == std::string::npos ? "" : images.substr(dot);
  std::vector<std::string> names{replaced(replaced(images, "images", "labels"), "idx3", "idx1")};
  // y for x, also for X, which often has y_train.npy next to it: x.npy, X_train.npy, train_x.npy.
  const auto add_y = [&](std::size_t at) {
    for (const char y : {'y', 'Y'}) names.push_back(images.substr(0, at) + y + images.substr(at + 1));
  };
  const std::size_t last = stem.empty() ? 0 : stem.size() - 1;
  if (lower(images).starts_with('x')) add_y(0);
  const std::string before = last > 1 && lower(stem.substr(last)) == "x" ? stem.substr(0, last) : "";
  if (before.ends_with('_') || before.ends_with('-')) {
    const std::string name = before.substr(0, before.size() - 1);
    if (is_split_name(name) || lower(name) == "data") add_y(last);  // not pos_x.npy
  }
  names.push_back(stem + "_labels" + ending);
  names.push_back("labels" + ending);
  for (std::size_t i = names.size(); i-- > 0;) {  // only one of the two files may be compressed
    const bool packed = ends_in(names[i], ".gz");
    names.push_back(packed ? names[i].substr(0, names[i].size() - 3) : names[i] + ".gz");
  }
  std::erase(names, images);
  return names;
}

// Path of the label file next to the file of images, or "" if there is none. Existence is checked in the folder's
// listing or on disk. For a URL without a listing it cannot be checked: the first name is used.
std::string find_labels(const std::string& images, const FolderListing* listing) {
  const std::size_t base = images.rfind('/') + 1;
  for (const std::string& name : label_names(images.substr(base))) {
    const std::string path = images.substr(0, base) + name;
    std::error_code failed;
    const bool exists = listing != nullptr
                            ? std::find(listing->files.begin(), listing->files.end(), name) != listing->files.end()
                            : is_url(images) || fs::exists(path, failed);
    if (exists) return path;
  }
  return "";
}

const char* split_of(const std::string& file_name) {
  const std::string name = lower(file_name);
  if (name.find("train") != std::string::npos) return "train";
  if (name.find("t10k") != std::string::npos || name.find("test") != std::string::npos) return "test";
  return name.find("val") != std::string::npos ? "val" : "";
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// `labelled` false: all labels are 0.
ArrayPart open_part(const Kind& kind, const std::string& images, const FolderListing* listing, bool labelled,
                    ArrayShape& shape) {
  ArrayPart part{open_array(kind, images), 0, {}, ""};
  const ArrayHeader header = header_of(kind, *part.bytes);
  shape = image_shape(header, images);
  part.offset = header.header_bytes;
  if (!labelled) {
    part.labels.resize(header.shape[0]);
    return part;
  }
  const std::string labels = find_labels(images, listing);
  part.labels_name = labels;
  if (labels.empty()) {
    reject(images, "no label file next to it; expected {}", label_names(base_name(images)).front());
  }
  const auto file = open_array(kind, labels);
  const ArrayHeader label_header = header_of(kind, *file);
  const std::uint64_t count = label_header.shape.empty() ? 0 : label_header.shape[0];
  if (count != header.shape[0] || label_header.data_bytes != count * label_header.element_bytes) {
    reject(labels, "labels of shape {}; expected one label for each of the {} images in {}",
           text_of(label_header.shape), header.shape[0], images);
  }
  std::vector<std::uint8_t> bytes(label_header.data_bytes);
  file->read(label_header.header_bytes, bytes);
  part.labels = labels_of(bytes, label_header.element_bytes, label_header.is_signed, label_header.big_endian);
  return part;
}

// Whether the folder of the source has the unpacked file of `packed`, which ends in .gz.
bool is_listed(const Source& source, const std::string& packed) {
  const std::string name = base_name(packed.substr(0, packed.size() - 3));
  return source.folder && std::ranges::find(source.listing.files, name) != source.listing.files.end();
}

// The image files of the source, training first. In a folder, these are the files that have a label file; if there are
// none and labels are declined, all files.
std::vector<std::string> image_files(const Kind& kind, const Source& source, const std::string& split, bool labelled) {
  std::vector<std::string> files = source.files;
  const FolderListing* const listing = source.folder ? &source.listing : nullptr;
  std::vector<std::string> named;
  for (const std::string& name : source.listing.files)
    if (kind.is_name(name)) named.push_back(source.path + "/" + name);
  std::ranges::copy_if(named, std::back_inserter(files),
                       [&](const std::string& path) { return !find_labels(path, listing).empty(); });
  if (files.empty() && !labelled) files = named;
  // torchvision leaves the compressed file next to the one that it unpacked.
  std::erase_if(files, [&](const std::string& file) { return file.ends_with(".gz") && is_listed(source, file); });
  // A label file may itself have a matching name ("labels_labels.npy"): label files are not image files.
  std::vector<std::string> labels;
  for (const std::string& file : files) labels.push_back(find_labels(file, listing));
  if (source.folder || source.files.size() > 1)
    std::erase_if(files, [&](const auto& file) { return std::count(labels.begin(), labels.end(), file) > 0; });
  if (files.empty())
    reject(source.text, "no image file with a label file; expected for example images.npy and labels.npy; found {}",
           describe(source.listing));
  const auto rank = [](const std::string& file) {
    return std::string_view(split_of(base_name(file))) == "train" ? 0 : 1;
  };
  std::stable_sort(files.begin(), files.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  const bool both = std::string_view(split_of(base_name(files.front()))) != split_of(base_name(files.back()));
  if (split.empty() && both && source.folder) report_both_splits(shown_name(source.text));
  if (split.empty()) return files;
  std::erase_if(files, [&](const std::string& file) { return split_of(base_name(file)) != split; });
  if (files.empty()) {
    throw argument_error("open {}: no image file of the split '{}'", shown_name(source.text), split);
  }
  return files;
}

std::shared_ptr<const Dataset> open_arrays(const Kind& kind, const Source& source, const std::string& split) {
  const bool labelled = !source.declines_labels;
  const std::vector<std::string> files = image_files(kind, source, split, labelled);
  ArrayShape shape;
  std::vector<ArrayPart> parts;
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; source.folder && j < i; ++j) {
      if (std::string_view(split_of(base_name(files[i]))) == split_of(base_name(files[j]))) {
        reject(source.text, "ambiguous: both {} and {} can be the image file. Pass one of the two files.",
               base_name(files[j]), base_name(files[i]));
      }
    }
    ArrayShape own;
    parts.push_back(open_part(kind, files[i], source.folder ? &source.listing : nullptr, labelled, own));
    if (i > 0 && own != shape) reject(files[i], "the image shape differs from {}", files[0]);
    shape = own;
  }
  return std::make_shared<ArrayImages>(kind.name, shape, std::move(parts), std::vector<std::string>(), labelled);
}

// Whether the first named file holds idx labels. The length is checked too, because the magic number alone also matches
// files of formats without one.
bool begins_with_labels(const Source& source) {
  if (source.first == nullptr || !is_idx_labels(source.content)) return false;
  try {
    return source.compression != Compression::kNone ||
           declared_bytes(read_idx_header(source.content)) == source.first->size();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool recognises_npy(const Source& source) {
  return source.folder ? folder_begins(source, is_npy_name, is_npy) : is_npy(source.head);
}

std::shared_ptr<const Dataset> open_npy(const Source& source, const std::string& split) {
  return open_arrays(kNpy, source, split);
}

bool recognises_idx(const Source& source) {
  if (source.folder) return folder_begins(source, is_idx_name, is_idx_images);
  return is_idx_images(source.content) || begins_with_labels(source);
}

std::shared_ptr<const Dataset> open_idx(const Source& source, const std::string& split) {
  return open_arrays(kIdx, source, split);
}

}  // namespace unstarve
