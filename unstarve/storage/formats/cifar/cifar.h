#pragma once
// CIFAR-10 and CIFAR-100 in their published binary form, memory-mapped: pixels are read without a copy.
//
// Layout (https://www.cs.toronto.edu/~kriz/cifar.html): records without header or gap,
//
//   CIFAR-10   | label | 1024 red | 1024 green | 1024 blue |            3073 bytes; data_batch_{1..5}, test_batch .bin
//   CIFAR-100  | coarse | fine | 1024 red | 1024 green | 1024 blue |    3074 bytes; train.bin, test.bin
//
// Each plane has 32 rows of 32 pixels. The label of CIFAR-100 is `fine`. Class names come from batches.meta.txt or
// fine_label_names.txt in the same folder; without that file, classes are named by their numbers.
//
// Order:     in a folder the training files by number, then the test file.
// Ownership: keeps the files mapped or, of URLs, in memory (184 MB); values stay valid as long as the dataset.
// Failure:   Error(kInput) with file and offset: at opening if the length is not a multiple of the record size or a
//            batch is missing, at read() if a label is out of range. The format has no checksum. If a mapped file
//            shrinks, its pixels read as zeros: call check_map() (core/map_guard.h) after using them.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "unstarve/core/file.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {

struct Source;

struct CifarLayout {
  const char* name;  // "cifar-10 binary"
  int classes;
  int label_bytes;  // the last of them is the label
  [[nodiscard]] constexpr std::size_t record_bytes() const { return static_cast<std::size_t>(label_bytes) + 3 * 1024; }
};

inline constexpr int kCifarSide = 32;
inline constexpr CifarLayout kCifar10{"cifar-10 binary", 10, 1};
inline constexpr CifarLayout kCifar100{"cifar-100 binary", 100, 2};

// The records of one file. Borrows the bytes; `file` is the name in messages.
class CifarRecords {
 public:
  // Throws Error(kInput) unless `bytes` holds a whole number of records, at least one.
  CifarRecords(const CifarLayout& layout, std::span<const std::uint8_t> bytes, std::string file);

  [[nodiscard]] std::uint64_t size() const { return bytes_.size() / layout_.record_bytes(); }
  [[nodiscard]] const std::string& file() const { return file_; }
  // Precondition: index < size(). Throws Error(kInput) for a label out of range.
  void read(std::uint64_t index, RecordBuffer& record) const;
  // The bytes of the record; empty if `index` is out of range.
  [[nodiscard]] std::span<const std::uint8_t> record(std::uint64_t index) const noexcept;

 private:
  CifarLayout layout_;
  std::span<const std::uint8_t> bytes_;
  std::string file_;
};

class CifarBinary final : public Dataset {
 public:
  // `files`, paths or URLs, in the order of their records; `names` one per class.
  CifarBinary(const CifarLayout& layout, const std::vector<std::string>& files, std::vector<std::string> names);

  [[nodiscard]] std::string format() const override { return layout_.name; }
  [[nodiscard]] std::uint64_t size() const override { return begin_.back(); }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] const std::vector<std::string>& classes() const override { return classes_; }
  [[nodiscard]] std::uint64_t stored_bytes() const override { return size() * layout_.record_bytes(); }
  [[nodiscard]] RecordLocation record_location(std::uint64_t id) const override;
  void read(std::uint64_t id, RecordBuffer& record) const override;
  [[nodiscard]] std::optional<std::int64_t> known_label(std::uint64_t id) const override;
  [[nodiscard]] std::optional<Size> known_size(std::uint64_t) const override { return Size{kCifarSide, kCifarSide}; }
  std::span<const std::uint8_t> prefetch(std::uint64_t id) const noexcept override;

 private:
  [[nodiscard]] std::size_t file_of(std::uint64_t id) const noexcept { return part_of(begin_, id); }

  CifarLayout layout_;
  std::vector<Field> fields_;
  std::vector<std::string> classes_;
  std::vector<MappedFile> maps_;
  std::vector<std::vector<std::uint8_t>> remote_;
  std::vector<CifarRecords> files_;
  std::vector<std::uint64_t> begin_{0};  // first id of each file, and size() at the end
};

// Class names, one per line; blank lines are skipped. Throws Error(kInput) unless there are `classes` names.
[[nodiscard]] std::vector<std::string> parse_class_names(std::string_view text, int classes, const std::string& file);

// Format table entry: a folder with the published file names, or *.bin files (one path, a glob or a brace range) of one
// layout and with equal class names. A file with another name is identified by its length and belongs to the training
// split. Splits: "train", "test"; "" is both.
[[nodiscard]] bool recognises_cifar(const Source& source);
[[nodiscard]] std::shared_ptr<const Dataset> open_cifar(const Source& source, const std::string& split);

}  // namespace unstarve
