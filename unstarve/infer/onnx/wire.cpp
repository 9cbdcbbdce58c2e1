#include "unstarve/infer/onnx/wire.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve::infer {
namespace {

void require(const WireField& field, WireType type, std::string_view found, std::string_view expected) {
  if (field.type == type) return;
  throw Error(ErrorKind::kInput,
              fmt::format("field {} {} at offset {}; expected {}", field.number, found, field.offset, expected));
}

}  // namespace

std::int64_t integer_in(const WireField& field) {
  require(field, WireType::kVarint, "is not an integer", "one");
  return static_cast<std::int64_t>(field.varint);
}

float float_in(const WireField& field) {
  require(field, WireType::kFixed32, "is not a float", "one");
  return std::bit_cast<float>(static_cast<std::uint32_t>(field.varint));
}

std::span<const std::uint8_t> message_in(const WireField& field) {
  require(field, WireType::kBytes, "has no length", "text or a message");
  return field.bytes;
}

std::string_view text_in(const WireField& field) { return as_text(message_in(field)); }

void append_integers(const WireField& field, std::vector<std::int64_t>& to) {
  if (field.type != WireType::kBytes) {
    to.push_back(integer_in(field));
    return;
  }
  WireReader packed(field.bytes, {"ONNX model", field.bytes.data() - field.offset});
  while (!packed.at_end()) to.push_back(static_cast<std::int64_t>(packed.varint()));
}

void append_floats(const WireField& field, std::vector<float>& to) {
  if (field.type != WireType::kBytes) {
    to.push_back(float_in(field));
    return;
  }
  const std::size_t before = to.size(), count = field.bytes.size() / sizeof(float);
  if (field.bytes.size() % sizeof(float) != 0)
    throw Error(ErrorKind::kInput, fmt::format("the end of a message at offset {}; expected the rest of a number",
                                               field.offset + count * sizeof(float)));
  to.resize(before + count);
  if (count > 0) std::memcpy(to.data() + before, field.bytes.data(), field.bytes.size());  // little-endian
}

}  // namespace unstarve::infer
