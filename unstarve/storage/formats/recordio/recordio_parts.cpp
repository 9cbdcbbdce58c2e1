#include "unstarve/storage/formats/recordio/recordio_parts.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "unstarve/core/error.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/index/record_format.h"

namespace unstarve {
namespace {

constexpr std::size_t kImageHeadBytes = 24;

[[noreturn]] void reject(const std::string& what) { throw Error(ErrorKind::kInput, what); }

void take_label(const std::uint8_t* bytes, RecordioImage& image) {
  const auto label = std::bit_cast<float>(load_little<std::uint32_t>(bytes));
  if (!(label >= 0 && label < static_cast<float>(kMaxClasses)))
    reject("label " + std::to_string(label) + "; expected a class number from 0 to " + std::to_string(kMaxClasses - 1));
  if (label != std::floor(label))
    image.no_label = "the float " + std::to_string(label);
  else
    image.label = static_cast<std::int64_t>(label);
}

}  // namespace

bool is_recordio_magic(const std::uint8_t* bytes) noexcept {
  return load_little<std::uint32_t>(bytes) == kRecordioMagic;
}

RecordioHead parse_recordio_head(std::span<const std::uint8_t> bytes) {
  if (!is_recordio_magic(bytes.data())) reject("not a RecordIO record: the magic 0xced7230a is missing");
  const auto word = load_little<std::uint32_t>(bytes.data() + 4);
  if (word >> 29 > 3) reject("record flag " + std::to_string(word >> 29) + "; expected 0 to 3");
  return {static_cast<RecordioFlag>(word >> 29), word & ((1U << 29) - 1)};
}

bool is_recordio_in_parts(std::span<const std::uint8_t> stored) noexcept {
  return stored.size() >= kRecordioHeadBytes && is_recordio_magic(stored.data()) &&
         load_little<std::uint32_t>(stored.data() + 4) >> 29 == static_cast<std::uint32_t>(RecordioFlag::kFirst);
}

std::span<const std::uint8_t> join_recordio(std::span<const std::uint8_t> stored, std::uint8_t* buffer) {
  std::size_t joined = 0;  // at most the bytes consumed of `stored`: a head is longer than the magic that replaces it
  for (bool first = true;; first = false) {
    if (stored.size() < kRecordioHeadBytes) reject("truncated: the record ends inside the head of a part");
    const RecordioHead head = parse_recordio_head(stored);
    if (head.begins() != first) reject("the parts of the record are out of order");
    if (head.length > stored.size() - kRecordioHeadBytes) {
      reject("truncated: a part declares " + std::to_string(head.length) + " bytes, the record contains " +
             std::to_string(stored.size() - kRecordioHeadBytes));
    }
    const std::span<const std::uint8_t> part = stored.subspan(kRecordioHeadBytes, head.length);
    if (head.ends() && head.stored_bytes() < stored.size()) reject("bytes follow the last part of the record");
    if (head.flag == RecordioFlag::kWhole) return part;
    if (!part.empty()) std::memmove(buffer + joined, part.data(), part.size());
    joined += part.size();
    if (head.ends()) return {buffer, joined};
    if (head.stored_bytes() > stored.size()) reject("truncated: the last part of the record is missing");
    stored = stored.subspan(head.stored_bytes());
    for (int shift = 0; shift < 32; shift += 8) buffer[joined++] = static_cast<std::uint8_t>(kRecordioMagic >> shift);
  }
}

RecordioImage parse_recordio_image(std::span<const std::uint8_t> record) {
  if (record.size() < kImageHeadBytes) {
    reject("a record of " + std::to_string(record.size()) + " bytes; expected an image header of " +
           std::to_string(kImageHeadBytes) + " bytes and an image");
  }
  const auto labels = load_little<std::uint32_t>(record.data());
  const std::span<const std::uint8_t> rest = record.subspan(kImageHeadBytes);
  if (labels > rest.size() / 4) {
    reject("truncated: the image header declares " + std::to_string(labels) + " labels, " +
           std::to_string(rest.size()) + " bytes follow");
  }
  RecordioImage image;
  if (labels > 1)
    image.no_label = "several values: " + std::to_string(labels) + " labels per image";
  else
    take_label(labels > 0 ? rest.data() : record.data() + 4, image);
  image.id = load_little<std::uint64_t>(record.data() + 8);
  image.encoded = rest.subspan(std::size_t{labels} * 4);
  if (image.encoded.empty()) reject("the record has no image after the header");
  return image;
}

}  // namespace unstarve
