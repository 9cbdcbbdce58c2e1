#pragma once
// Contiguous 8-bit grey or RGB images, each with a label: the contents of .npy arrays, idx files and CIFAR pickles.
//
// Fields:    image (pixels; grey images are read as RGB with three equal channels), label unless declined.
// Ownership: keeps the parts open and all labels in memory (4 bytes each). Pixels of a mapped part are views of the
//            map: call check_map() (core/map_guard.h) after using them.
// Failure:   read() of a record whose label is not a class number throws Error(kInput).
// Cost:      opening reads no pixels. read() of a mapped part is a few additions; of any other part it is one request.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/byte_source.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

struct ArrayShape {
  int width = 0;
  int height = 0;
  int channels = 3;     // 1 or 3
  bool planar = false;  // a plane per channel, instead of channels per pixel
  friend bool operator==(const ArrayShape&, const ArrayShape&) = default;
  [[nodiscard]] constexpr std::uint64_t bytes() const noexcept {
    return static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height) *
           static_cast<std::uint64_t>(channels);
  }
};

struct ArrayPart {
  std::shared_ptr<const ByteSource> bytes;
  std::uint64_t offset = 0;          // of the first image
  std::vector<std::int32_t> labels;  // one per image; negative: not a class number
  std::string labels_name;           // file name of the labels, for messages
};

// Converts integers to labels; values outside [0, kMaxClasses) become -1. Precondition: `bytes` holds whole elements of
// 1, 2, 4 or 8 bytes.
[[nodiscard]] std::vector<std::int32_t> labels_of(std::span<const std::uint8_t> bytes, std::size_t element_bytes,
                                                  bool is_signed, bool big_endian);

class ArrayImages final : public Dataset {
 public:
  // Precondition: each part is non-empty and holds as many images as labels. `classes`: the names; if empty, numbers up
  // to the largest label. `labelled` false: labels are not used.
  ArrayImages(std::string format, const ArrayShape& shape, std::vector<ArrayPart> parts,
              std::vector<std::string> classes = {}, bool labelled = true);

  [[nodiscard]] std::string format() const override { return format_; }
  [[nodiscard]] std::uint64_t size() const override { return begins_.back(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return classes_; }
  [[nodiscard]] std::string missing_labels() const override { return ""; }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return size() * shape_.bytes(); }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override;
  [[nodiscard]] std::optional<std::int64_t> known_label(std::uint64_t id) const override;
  [[nodiscard]] std::optional<Size> known_size(std::uint64_t) const override {
    return Size{shape_.width, shape_.height};
  }
  void read(std::uint64_t id, RecordBuffer& record) const override;

 private:
  [[nodiscard]] std::size_t part_of(std::uint64_t id) const noexcept { return unstarve::part_of(begins_, id); }

  std::string format_;
  ArrayShape shape_;
  std::vector<ArrayPart> parts_;
  std::vector<std::uint64_t> begins_{0};  // first id of each part, then size()
  std::vector<Field> fields_;
  std::vector<std::string> classes_;
};

}  // namespace unstarve
