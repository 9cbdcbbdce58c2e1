#include "unstarve/storage/formats/recordio/recordio_parts.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "unstarve/core/format_error.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/index/record_format.h"

namespace unstarve {
namespace {

constexpr std::size_t kImageHeadBytes = 24;

void take_label(const std::uint8_t* bytes, RecordioImage& image) {
  const auto label = std::bit_cast<float>(load_little<std::uint32_t>(bytes));
  if (!(label >= 0 && label < static_cast<float>(kMaxClasses)))
    throw input_error("label {:f}; expected a class number from 0 to {}", label, kMaxClasses - 1);
  if (label != std::floor(label))
    image.no_label = fmt::format("the float {:f}", label);
  else
    image.label = static_cast<std::int64_t>(label);
}

}  // namespace

bool is_recordio_magic(const std::uint8_t* bytes) noexcept {
  return load_little<std::uint32_t>(bytes) == kRecordioMagic;
}

RecordioHead parse_recordio_head(std::span<const std::uint8_t> bytes) {
  if (!is_recordio_magic(bytes.data())) throw input_error("not a RecordIO record: the magic 0xced7230a is missing");
  const auto word = load_little<std::uint32_t>(bytes.data() + 4);
  if (word >> 29 > 3) throw input_error("record flag {}; expected 0 to 3", word >> 29);
  return {static_cast<RecordioFlag>(word >> 29), word & ((1U << 29) - 1)};
}

bool is_recordio_in_parts(std::span<const std::uint8_t> stored) noexcept {
  return stored.size() >= kRecordioHeadBytes && is_recordio_magic(stored.data()) &&
         load_little<std::uint32_t>(stored.data() + 4) >> 29 == static_cast<std::uint32_t>(RecordioFlag::kFirst);
}

std::span<const std::uint8_t> join_recordio(std::span<const std::uint8_t> stored, std::uint8_t* buffer) {
  std::size_t joined = 0;  // at most the bytes consumed of `stored`: a head is longer than the magic that replaces it
  for (bool first = true;; first = false) {
    if (stored.size() < kRecordioHeadBytes) throw input_error("truncated: the record ends inside the head of a part");
    const RecordioHead head = parse_recordio_head(stored);
    if (head.begins() != first) throw input_error("the parts of the record are out of order");
    if (head.length > stored.size() - kRecordioHeadBytes) {
      throw input_error("truncated: a part declares {} bytes, the record contains {}", head.length,
                        stored.size() - kRecordioHeadBytes);
    }
    const std::span<const std::uint8_t> part = stored.subspan(kRecordioHeadBytes, head.length);
    if (head.ends() && head.stored_bytes() < stored.size())
      throw input_error("bytes follow the last part of the record");
    if (head.flag == RecordioFlag::kWhole) return part;
    if (!part.empty()) std::memmove(buffer + joined, part.data(), part.size());
    joined += part.size();
    if (head.ends()) return {buffer, joined};
    if (head.stored_bytes() > stored.size()) throw input_error("truncated: the last part of the record is missing");
    stored = stored.subspan(head.stored_bytes());
    for (int shift = 0; shift < 32; shift += 8) buffer[joined++] = static_cast<std::uint8_t>(kRecordioMagic >> shift);
  }
}

bool is_insightface_range(std::span<const std::uint8_t> record) noexcept {
  constexpr std::uint32_t kLabels = 2;
  return record.size() == kImageHeadBytes + std::size_t{kLabels} * 4 &&
         load_little<std::uint32_t>(record.data()) == kLabels;
}

RecordioImage parse_recordio_image(std::span<const std::uint8_t> record, bool labelled) {
  if (record.size() < kImageHeadBytes) {
    throw input_error("a record of {} bytes; expected an image header of {} bytes and an image", record.size(),
                      kImageHeadBytes);
  }
  const auto labels = load_little<std::uint32_t>(record.data());
  const std::span<const std::uint8_t> rest = record.subspan(kImageHeadBytes);
  if (labels > rest.size() / 4) {
    throw input_error("truncated: the image header declares {} labels, {} bytes follow", labels, rest.size());
  }
  RecordioImage image;
  if (labelled && labels > 1)
    image.no_label = fmt::format("several values: {} labels per image", labels);
  else if (labelled)
    take_label(labels > 0 ? rest.data() : record.data() + 4, image);
  image.id = load_little<std::uint64_t>(record.data() + 8);
  image.encoded = rest.subspan(std::size_t{labels} * 4);
  if (image.encoded.empty()) throw input_error("the record has no image after the header");
  return image;
}

}  // namespace unstarve
