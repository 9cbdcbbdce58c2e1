#pragma once
// Iterates over the fields of a protobuf message in place (protobuf.dev/programming-guides/encoding).
//
// Groups (wire types 3 and 4) are unknown: proto3 does not write them.
// Ownership: borrows the bytes. Threads: one. Failure: Error(kInput) with the offset in the outermost message.

#include <cstdint>
#include <span>
#include <string>

#include "unstarve/core/error.h"

namespace unstarve {

enum class WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t varint = 0;             // of kVarint; the bits of kFixed64 and kFixed32
  std::span<const std::uint8_t> bytes;  // of kBytes
  std::size_t offset = 0;               // of the field in the outermost message
};

// The outermost message, for errors.
struct WireOrigin {
  const char* name = "";  // of its type
  const std::uint8_t* begin = nullptr;
};

class WireReader {
 public:
  // `message` is the outermost message or within it.
  WireReader(std::span<const std::uint8_t> message, WireOrigin origin)
      : at_(message.data()), end_(message.data() + message.size()), origin_(origin) {}

  // Returns false at the end.
  bool next(WireField& field) {
    if (at_ == end_) return false;
    field.offset = static_cast<std::size_t>(at_ - origin_.begin);
    const std::uint64_t tag = varint();
    field.number = static_cast<std::uint32_t>(tag >> 3);
    field.type = static_cast<WireType>(tag & 7);
    if (tag >> 32 != 0 || field.number == 0) damaged("a field has no valid number");
    switch (field.type) {
      case WireType::kVarint: field.varint = varint(); break;
      case WireType::kFixed64: field.varint = bits(take(8)); break;
      case WireType::kBytes: field.bytes = take(varint()); break;
      case WireType::kFixed32: field.varint = bits(take(4)); break;
      default: damaged("wire type " + std::to_string(tag & 7) + " is unknown");
    }
    return true;
  }

  [[nodiscard]] bool at_end() const noexcept { return at_ == end_; }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) damaged("truncated inside a number");
      const std::uint64_t byte = *at_++;
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    damaged("a number has more than 10 bytes");
  }

 private:
  static std::uint64_t bits(std::span<const std::uint8_t> little_endian) {
    std::uint64_t value = 0;
    for (std::size_t i = little_endian.size(); i > 0; --i) value = value << 8 | little_endian[i - 1];
    return value;
  }

  std::span<const std::uint8_t> take(std::uint64_t count) {
    const auto left = static_cast<std::uint64_t>(end_ - at_);
    if (count > left) {
      damaged("a field declares " + std::to_string(count) + " bytes, the record contains " + std::to_string(left));
    }
    const std::span<const std::uint8_t> taken(at_, static_cast<std::size_t>(count));
    at_ += count;
    return taken;
  }

  [[noreturn]] void damaged(const std::string& what) const {
    throw Error(ErrorKind::kInput, "invalid " + std::string(origin_.name) + ": " + what + " (at offset " +
                                       std::to_string(at_ - origin_.begin) + ")");
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  WireOrigin origin_;
};

}  // namespace unstarve
