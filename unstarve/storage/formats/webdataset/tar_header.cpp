#include "unstarve/storage/formats/webdataset/tar_header.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/text.h"

namespace unstarve {
namespace {

constexpr std::size_t kNameAt = 0, kNameBytes = 100;
constexpr std::size_t kSizeAt = 124, kSizeBytes = 12;
constexpr std::size_t kTypeAt = 156;
constexpr std::size_t kMagicAt = 257;
constexpr std::size_t kPrefixAt = 345, kPrefixBytes = 155;

std::string_view text_at(TarBlock block, std::size_t at, std::size_t bytes) noexcept {
  const std::string_view field(reinterpret_cast<const char*>(block.data()) + at, bytes);
  return field.substr(0, std::min(field.find('\0'), bytes));
}

bool has_magic(TarBlock block) noexcept { return std::memcmp(block.data() + kMagicAt, "ustar", 5) == 0; }
bool is_posix(TarBlock block) noexcept { return std::memcmp(block.data() + kMagicAt, "ustar\0", 6) == 0; }

// Octal digits surrounded by blanks. An empty field is 0: old programs leave unused fields empty.
std::optional<std::uint64_t> parse_octal(std::string_view field) noexcept {
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  while (!field.empty() && field.back() == ' ') field.remove_suffix(1);
  std::uint64_t value = 0;
  for (const char digit : field) {
    if (digit < '0' || digit > '7' || value >> 60 != 0) return std::nullopt;
    value = value << 3 | static_cast<std::uint64_t>(digit - '0');
  }
  return value;
}

// 95 bits after the marker 0x80; nullopt if the value exceeds 63 bits.
std::optional<std::uint64_t> parse_binary(const std::uint8_t* field, std::size_t bytes) noexcept {
  std::uint64_t value = field[0] & 0x7F;
  for (std::size_t i = 1; i < bytes; ++i) {
    if (value >> 55 != 0) return std::nullopt;
    value = value << 8 | field[i];
  }
  return value;
}

std::optional<std::uint64_t> parse_size(TarBlock block) noexcept {
  if ((block[kSizeAt] & 0x80) != 0) return parse_binary(block.data() + kSizeAt, kSizeBytes);
  return parse_octal(text_at(block, kSizeAt, kSizeBytes));
}

void set_pax_field(std::string_view key, std::string_view value, PaxFields& fields) {
  if (key == "path") {
    if (value.empty() || value.find('\0') != std::string_view::npos)
      throw input_error("the pax path is empty or contains a NUL");
    fields.path = std::string(value);
  } else if (key == "size") {
    const std::optional<std::uint64_t> size = parse_number<std::uint64_t>(value);
    if (!size || *size >> 62 != 0) {
      throw input_error("pax size '{}'; expected a decimal number below 2^62", value.substr(0, 32));
    }
    fields.size = size;
  } else if (key.substr(0, 11) == "GNU.sparse.") {
    fields.sparse = true;
  }
}

}  // namespace

bool is_tar_header(TarBlock block) noexcept { return has_magic(block) && has_right_checksum(block); }

bool tar_type_has_body(char type) noexcept { return type < '1' || type > '6'; }

TarHeader parse_tar_header(TarBlock block) {
  if (!has_right_checksum(block)) {
    throw input_error("the header checksum is wrong{}", has_magic(block) ? "" : " and the magic 'ustar' is missing");
  }
  TarHeader header;
  header.type = block[kTypeAt] == 0 ? '0' : static_cast<char>(block[kTypeAt]);
  const std::optional<std::uint64_t> size = parse_size(block);
  if (!size) throw input_error("the size in the header is not a number");
  header.size = *size;
  if (is_posix(block)) header.name = text_at(block, kPrefixAt, kPrefixBytes);
  if (!header.name.empty()) header.name += '/';
  header.name += text_at(block, kNameAt, kNameBytes);
  return header;
}

void parse_pax(std::span<const std::uint8_t> body, PaxFields& fields) {
  std::string_view rest = as_text(body);
  while (!rest.empty() && rest.front() != '\0') {
    std::size_t length = 0;
    const auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    const auto digits = static_cast<std::size_t>(end - rest.data());
    if (failed != std::errc() || digits == rest.size() || rest[digits] != ' ' || length > rest.size() ||
        length < digits + 2 || rest[length - 1] != '\n') {
      throw input_error("pax record at offset {}: the length is wrong", body.size() - rest.size());
    }
    const std::string_view record = rest.substr(digits + 1, length - digits - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) throw input_error("pax record without '='");
    set_pax_field(record.substr(0, equals), record.substr(equals + 1), fields);
    rest.remove_prefix(length);
  }
}

}  // namespace unstarve
