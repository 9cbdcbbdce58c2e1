#pragma once
// The encoding of protocol buffers: a message is a sequence of fields, each a key and a value.
//
//   key     varint: field number << 3 | type
//   type 0  varint: 7 bits per byte, least significant first, the highest bit is set in all but the last byte
//   type 1  8 bytes
//   type 2  varint with the length, then that many bytes: text, a message, or numbers in sequence ("packed")
//   type 5  4 bytes
//
// Ownership: a reader borrows the bytes and returns spans into them.
// Failure:   a reader throws Error(kInput) with the offset for truncated or malformed bytes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve::infer {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// A field of a message.
struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;                // except for kBytes
  std::span<const std::uint8_t> bytes{};  // of kBytes
  std::size_t offset = 0;                 // of its key in the file

  // Throw Error(kInput) if the field has another type.
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] float number32() const;
  [[nodiscard]] std::string_view text() const;
  [[nodiscard]] std::span<const std::uint8_t> message() const;
  // Of a repeated field: appends its number, or those of a packed sequence.
  void append_integers(std::vector<std::int64_t>& to) const;
  void append_floats(std::vector<float>& to) const;
};

class WireReader {
 public:
  // `file`: the whole file, of which `message` is a part; for offsets in errors.
  WireReader(std::span<const std::uint8_t> message, std::span<const std::uint8_t> file)
      : message_(message), start_(static_cast<std::size_t>(message.data() - file.data())) {}
  // False at the end of the message.
  bool next(WireField& field);

 private:
  std::span<const std::uint8_t> message_;
  std::size_t start_;
  std::size_t at_ = 0;
};

// Appends fields to a message.
class WireWriter {
 public:
  void integer(std::uint32_t number, std::int64_t value);
  void number32(std::uint32_t number, float value);
  void bytes(std::uint32_t number, std::string_view value);
  void bytes(std::uint32_t number, std::span<const std::uint8_t> value);
  void message(std::uint32_t number, const WireWriter& value) { bytes(number, value.text()); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value);
  std::string text_;
};

}  // namespace unstarve::infer
