#pragma once
// For tests: builds RecordIO records.

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/formats/recordio/recordio_parts.h"

namespace unstarve::testing {

inline std::string recordio_magic() {
  std::string text;
  append_little<std::uint32_t>(text, kRecordioMagic);
  return text;
}

inline std::string recordio_part(std::uint32_t flag, const std::string& data) {
  std::string text = recordio_magic();
  append_little<std::uint32_t>(text, flag << 29 | static_cast<std::uint32_t>(data.size()));
  return text + data + std::string((4 - data.size() % 4) % 4, '\0');
}

// Splits the record where aligned bytes equal the magic.
inline std::string recordio_record(const std::string& data) {
  const std::string magic = recordio_magic();
  std::string text;
  std::size_t begin = 0;
  for (std::size_t at = 0; at + 4 <= data.size(); at += 4) {
    if (data.compare(at, 4, magic) != 0) continue;
    text += recordio_part(begin == 0 ? 1 : 2, data.substr(begin, at - begin));
    begin = at + 4;
  }
  return text + recordio_part(begin == 0 ? 0 : 3, data.substr(begin));
}

inline std::string recordio_image(const std::vector<float>& labels, const std::string& image, std::uint64_t id = 0) {
  std::string text;
  const bool several = labels.size() > 1;
  append_little<std::uint32_t>(text, several ? static_cast<std::uint32_t>(labels.size()) : 0);
  append_little<std::uint32_t>(text, several ? 0 : std::bit_cast<std::uint32_t>(labels[0]));
  append_little<std::uint64_t>(text, id);
  append_little<std::uint64_t>(text, 0);
  for (std::size_t i = 0; several && i < labels.size(); ++i) {
    append_little<std::uint32_t>(text, std::bit_cast<std::uint32_t>(labels[i]));
  }
  return text + image;
}

}  // namespace unstarve::testing
