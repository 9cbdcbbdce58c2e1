#include "unstarve/infer/onnx/wire.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "unstarve/core/error.h"

namespace unstarve::infer {
namespace {

// Writes of integers assume that floats and integers are little endian in memory.
static_assert(std::endian::native == std::endian::little);

[[noreturn]] void malformed(std::size_t offset, std::string_view found, std::string_view expected) {
  throw Error(ErrorKind::kInput, fmt::format("{} at offset {}; expected {}", found, offset, expected));
}

// Reads a varint and advances `at`. `start`: the offset of `bytes`.
std::uint64_t read_varint(std::span<const std::uint8_t> bytes, std::size_t& at, std::size_t start) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at == bytes.size()) malformed(start + at, "the end of a message", "the rest of a number");
    const std::uint8_t byte = bytes[at++];
    value |= static_cast<std::uint64_t>(byte & 0x7fu) << shift;
    if ((byte & 0x80u) == 0) return value;
  }
  malformed(start + at, "a number of more than 10 bytes", "up to 64 bits");
}

template <class T>
T read_fixed(std::span<const std::uint8_t> bytes, std::size_t& at, std::size_t start) {
  if (bytes.size() - at < sizeof(T)) malformed(start + at, "the end of a message", "the rest of a number");
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  at += sizeof value;
  return value;
}

}  // namespace

std::int64_t WireField::integer() const {
  if (type != WireType::kVarint) malformed(offset, fmt::format("field {} is not an integer", number), "one");
  return static_cast<std::int64_t>(value);
}

float WireField::number32() const {
  if (type != WireType::kFixed32) malformed(offset, fmt::format("field {} is not a float", number), "one");
  return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}

std::span<const std::uint8_t> WireField::message() const {
  if (type != WireType::kBytes) malformed(offset, fmt::format("field {} has no length", number), "text or a message");
  return bytes;
}

std::string_view WireField::text() const {
  const std::span<const std::uint8_t> all = message();
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

void WireField::append_integers(std::vector<std::int64_t>& to) const {
  if (type != WireType::kBytes) {
    to.push_back(integer());
    return;
  }
  for (std::size_t at = 0; at < bytes.size();) to.push_back(static_cast<std::int64_t>(read_varint(bytes, at, offset)));
}

void WireField::append_floats(std::vector<float>& to) const {
  if (type != WireType::kBytes) {
    to.push_back(number32());
    return;
  }
  for (std::size_t at = 0; at < bytes.size();) to.push_back(read_fixed<float>(bytes, at, offset));
}

bool WireReader::next(WireField& field) {
  if (at_ == message_.size()) return false;
  field = {};
  field.offset = start_ + at_;
  const std::uint64_t key = read_varint(message_, at_, start_);
  if (key >> 3 == 0 || key >> 32 != 0) malformed(field.offset, "an invalid field number", "1 or more");
  field.number = static_cast<std::uint32_t>(key >> 3);
  switch (key & 7) {
    case 0: field.value = read_varint(message_, at_, start_); break;
    case 1: field.value = read_fixed<std::uint64_t>(message_, at_, start_); break;
    case 2: {
      const std::uint64_t size = read_varint(message_, at_, start_);
      if (size > message_.size() - at_)
        malformed(field.offset, fmt::format("field {} has {} bytes", field.number, size),
                  fmt::format("at most the {} that are left", message_.size() - at_));
      field.bytes = message_.subspan(at_, size);
      at_ += size;
      break;
    }
    case 5: field.value = read_fixed<std::uint32_t>(message_, at_, start_); break;
    default: malformed(field.offset, fmt::format("the unknown field type {}", key & 7), "0, 1, 2 or 5");
  }
  field.type = static_cast<WireType>(key & 7);
  return true;
}

void WireWriter::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_ += static_cast<char>((value & 0x7f) | 0x80);
  text_ += static_cast<char>(value);
}

void WireWriter::integer(std::uint32_t number, std::int64_t value) {
  varint(static_cast<std::uint64_t>(number) << 3);
  varint(static_cast<std::uint64_t>(value));
}

void WireWriter::number32(std::uint32_t number, float value) {
  varint(static_cast<std::uint64_t>(number) << 3 | 5);
  const auto bytes = std::bit_cast<std::array<char, 4>>(value);
  text_.append(bytes.data(), bytes.size());
}

void WireWriter::bytes(std::uint32_t number, std::string_view value) {
  varint(static_cast<std::uint64_t>(number) << 3 | 2);
  varint(value.size());
  text_ += value;
}

void WireWriter::bytes(std::uint32_t number, std::span<const std::uint8_t> value) {
  bytes(number, std::string_view(reinterpret_cast<const char*>(value.data()), value.size()));
}

}  // namespace unstarve::infer
