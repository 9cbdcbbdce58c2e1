#pragma once
// Reads Python pickles that hold data only. It executes nothing: a reference to any Python object but those below is an
// error.
//
// Accepted:  protocols 2 to 5; dict, list, tuple, int, bool, None, bytes, str, and NumPy arrays of integers. They are
//            built by numpy's _reconstruct, _frombuffer, ndarray and dtype, and by _codecs.encode for bytes of
//            protocol 2; these names select a branch of this reader and are not called.
// Ownership: borrows the bytes; texts and arrays are views of them.
// Cost:      linear in the bytes; at most kMaxPickleValues values. No recursion.
// Threads:   read-only after construction. Failure: Error(kInput) without the file name (the caller adds it).

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

// CIFAR-100 needs 200,000.
inline constexpr std::size_t kMaxPickleValues = std::size_t{1} << 21;

struct PickleValue {
  enum class Kind : std::uint8_t { kNone, kInteger, kText, kTuple, kList, kDict, kGlobal, kDtype, kArray };
  Kind kind = Kind::kNone;
  bool column_major = false;              // of an array
  std::int64_t integer = 0;               // also of a bool
  std::span<const std::uint8_t> bytes{};  // of bytes and str; of an array
  std::string name{};                     // of a global: "numpy.dtype"; of a dtype and an array: "<i8", "|u1"
  std::vector<std::uint32_t> items{};     // of a tuple or list; of a dict: key, value, key, ...
  std::vector<std::uint64_t> shape{};     // of an array
};

class Pickle {
 public:
  // Throws Error(kInput) for anything but one pickle, possibly followed by other bytes.
  explicit Pickle(std::span<const std::uint8_t> bytes);
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  [[nodiscard]] const PickleValue& root() const noexcept { return values_[root_]; }
  // An element of PickleValue::items.
  [[nodiscard]] const PickleValue& at(std::uint32_t index) const noexcept { return values_[index]; }
  // The value of a text key in the root; null if the root is not a dict or has no such key.
  [[nodiscard]] const PickleValue* find(std::string_view key) const noexcept;

 private:
  friend class PickleReader;
  std::vector<PickleValue> values_;
  std::deque<std::vector<std::uint8_t>> decoded_;  // bytes that are stored as text
  std::uint32_t root_ = 0;
};

}  // namespace unstarve
