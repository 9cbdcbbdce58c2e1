#include "unstarve/storage/formats/cifar/cifar.h"

#include <algorithm>

#include "unstarve/core/error.h"
#include "unstarve/core/map_guard.h"
#include "unstarve/storage/bytes/byte_source.h"

namespace unstarve {
namespace {

// The largest published file has 154 MB.
constexpr std::uint64_t kMaxRemoteBytes = std::uint64_t{2} << 30;

// Followed by kReadableBehind bytes of padding.
std::vector<std::uint8_t> read_whole(const std::string& url) {
  const std::shared_ptr<const ByteSource> file = open_bytes(url);
  if (file->size() > kMaxRemoteBytes)
    throw Error(ErrorKind::kInput, "open " + file->name() + ": " + std::to_string(file->size()) +
                                       " bytes; expected a CIFAR file of at most " + std::to_string(kMaxRemoteBytes));
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(file->size()) + kReadableBehind);
  file->read(0, std::span(bytes).first(static_cast<std::size_t>(file->size())));
  return bytes;
}

}  // namespace

CifarRecords::CifarRecords(const CifarLayout& layout, std::span<const std::uint8_t> bytes, std::string file)
    : layout_(layout), bytes_(bytes), file_(std::move(file)) {
  const std::size_t record = layout_.record_bytes();
  if (bytes.empty()) {
    throw Error(ErrorKind::kInput,
                "open " + file_ + ": the file is empty; expected records of " + std::to_string(record) + " bytes");
  }
  if (bytes.size() % record != 0) {
    const std::size_t whole = bytes.size() / record;
    throw Error(ErrorKind::kInput, "open " + file_ + ": " + std::to_string(bytes.size()) +
                                       " bytes, not a multiple of the " + std::to_string(record) + "-byte records of " +
                                       layout_.name + ": record " + std::to_string(whole) + " at offset " +
                                       std::to_string(whole * record) + " has only " +
                                       std::to_string(bytes.size() - whole * record));
  }
}

void CifarRecords::read(std::uint64_t index, RecordBuffer& record) const {
  const std::size_t offset = index * layout_.record_bytes();
  const std::uint8_t* const start = bytes_.data() + offset;
  const int label = start[layout_.label_bytes - 1];
  if (label >= layout_.classes) {
    throw Error(ErrorKind::kInput, "read " + file_ + " record " + std::to_string(index) + ": label " +
                                       std::to_string(label) + " at offset " +
                                       std::to_string(offset + static_cast<std::size_t>(layout_.label_bytes) - 1) +
                                       " is out of range; expected 0 to " + std::to_string(layout_.classes - 1));
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
      const std::size_t bytes = remote_.back().size() - kReadableBehind;
      files_.emplace_back(layout, std::span<const std::uint8_t>(remote_.back()).first(bytes), shown_name(file));
    } else {
      maps_.emplace_back(file);
      files_.emplace_back(layout, maps_.back().bytes(), file);
    }
    begin_.push_back(begin_.back() + files_.back().size());
  }
}

std::size_t CifarBinary::file_of(std::uint64_t id) const {
  return static_cast<std::size_t>(std::upper_bound(begin_.begin(), begin_.end(), id) - begin_.begin()) - 1;
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
    throw Error(ErrorKind::kInput, "read " + file + ": " + std::to_string(names.size()) + " class names; expected " +
                                       std::to_string(classes));
  }
  return names;
}

}  // namespace unstarve
