#include "unstarve/storage/formats/arrays/array_images.h"

#include <algorithm>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/index/record_format.h"

namespace unstarve {

std::vector<std::int32_t> labels_of(std::span<const std::uint8_t> bytes, std::size_t element_bytes, bool is_signed,
                                    bool big_endian) {
  std::vector<std::int32_t> labels;
  labels.reserve(bytes.size() / element_bytes);
  for (std::size_t offset = 0; offset + element_bytes <= bytes.size(); offset += element_bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < element_bytes; ++i) {
      value = value << 8 | bytes[offset + (big_endian ? i : element_bytes - 1 - i)];
    }
    const bool negative = is_signed && value >> (8 * element_bytes - 1) != 0;
    const bool is_class = !negative && value < static_cast<std::uint64_t>(kMaxClasses);
    labels.push_back(is_class ? static_cast<std::int32_t>(value) : -1);
  }
  return labels;
}

ArrayImages::ArrayImages(std::string format, const ArrayShape& shape, std::vector<ArrayPart> parts,
                         std::vector<std::string> classes, bool labelled)
    : format_(std::move(format)),
      shape_(shape),
      parts_(std::move(parts)),
      fields_{{"image", FieldKind::kPixels}},
      classes_(std::move(classes)) {
  if (labelled) fields_.push_back({"label", FieldKind::kLabel});
  std::int32_t largest = -1;
  for (const ArrayPart& part : parts_) {
    begins_.push_back(begins_.back() + part.labels.size());
    largest = std::max(largest, *std::max_element(part.labels.begin(), part.labels.end()));
  }
  const bool numbered = labelled && classes_.empty();
  for (std::int32_t number = 0; numbered && number <= largest; ++number) classes_.push_back(std::to_string(number));
}

RecordLocation ArrayImages::record_location(std::uint64_t id) const {
  const std::size_t part = part_of(id);
  const std::uint64_t number = id - begins_[part];
  return {
      .file = parts_[part].bytes->name(), .number = number, .offset = parts_[part].offset + number * shape_.bytes()};
}

std::optional<std::int64_t> ArrayImages::known_label(std::uint64_t id) const {
  if (fields_.size() < 2) return std::nullopt;
  const std::size_t part = part_of(id);
  const std::int32_t label = parts_[part].labels[id - begins_[part]];
  return label >= 0 ? std::optional<std::int64_t>(label) : std::nullopt;
}

void ArrayImages::read(std::uint64_t id, RecordBuffer& record) const {
  const ArrayPart& part = parts_[part_of(id)];
  const std::uint64_t number = id - begins_[part_of(id)];
  const std::int32_t label = part.labels[number];
  const bool labelled = fields_.size() > 1;
  if (labelled && label < 0) {
    throw input_error("read {}: the label in {} is not a class number; expected 0 to {}", location(id),
                      part.labels_name, kMaxClasses - 1);
  }
  const auto bytes = static_cast<std::size_t>(shape_.bytes());
  const std::uint64_t offset = part.offset + number * bytes;
  const std::span<const std::uint8_t> mapped = part.bytes->mapped();
  const std::uint8_t* pixels = mapped.data() + (mapped.empty() ? 0 : offset);
  if (mapped.empty()) {
    record.storage.reserve_discard(bytes + kReadableAfter);
    part.bytes->read(offset, {record.storage.data(), bytes});
    pixels = record.storage.data();
  }
  record.values.resize(fields_.size());
  record.values[0] = {};
  const std::ptrdiff_t step = shape_.planar ? 1 : shape_.channels;
  const std::ptrdiff_t plane = shape_.planar ? std::ptrdiff_t{shape_.width} * shape_.height : 1;
  record.values[0].pixels = {
      pixels, shape_.width, shape_.height, shape_.width * step, step, shape_.channels == 1 ? 0 : plane};
  if (labelled) record.values[1] = {{}, {}, label};
}

}  // namespace unstarve
