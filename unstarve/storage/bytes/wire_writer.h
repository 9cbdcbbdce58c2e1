#pragma once
// Writes the fields of a protobuf message one after another (protobuf.dev/programming-guides/encoding); wire_reader.h
// reads them.
//
// Ownership: owns the text of the message. Threads: one. Failure: none.

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/bytes/text.h"
#include "unstarve/storage/bytes/wire_reader.h"

namespace unstarve {

class WireWriter {
 public:
  WireWriter& integer(std::uint32_t number, std::int64_t value) {
    key(number, WireType::kVarint);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  WireWriter& float32(std::uint32_t number, float value) {
    key(number, WireType::kFixed32);
    append_little(text_, std::bit_cast<std::uint32_t>(value));
    return *this;
  }
  WireWriter& float64(std::uint32_t number, double value) {
    key(number, WireType::kFixed64);
    append_little(text_, std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  WireWriter& bytes(std::uint32_t number, std::string_view value) {
    key(number, WireType::kBytes);
    varint(value.size());
    text_ += value;
    return *this;
  }
  WireWriter& bytes(std::uint32_t number, std::span<const std::uint8_t> value) { return bytes(number, as_text(value)); }
  WireWriter& message(std::uint32_t number, const WireWriter& value) { return bytes(number, value.text()); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void key(std::uint32_t number, WireType type) {
    varint(std::uint64_t{number} << 3 | static_cast<std::uint64_t>(type));
  }
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) text_.push_back(static_cast<char>(value | 128));
    text_.push_back(static_cast<char>(value));
  }

  std::string text_;
};

}  // namespace unstarve
