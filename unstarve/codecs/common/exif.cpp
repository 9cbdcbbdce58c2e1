#include "unstarve/codecs/common/exif.h"

#include <algorithm>
#include <array>

namespace unstarve {
namespace {

constexpr std::uint16_t kOrientationTag = 0x0112;
constexpr std::uint16_t kShort = 3;  // TIFF 6.0, page 15
constexpr std::uint16_t kLong = 4;
constexpr std::size_t kEntryBytes = 12;
constexpr std::array<std::uint8_t, 6> kExifName = {'E', 'x', 'i', 'f', 0, 0};

// Reads numbers at offsets of a TIFF file. Reads outside of the file return 0, which is not a valid field.
class TiffReader {
 public:
  TiffReader(std::span<const std::uint8_t> bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  [[nodiscard]] std::uint32_t u16(std::size_t at) const noexcept {
    if (at > bytes_.size() || bytes_.size() - at < 2) return 0;
    const std::uint32_t first = bytes_[at];
    const std::uint32_t second = bytes_[at + 1];
    return big_endian_ ? first << 8 | second : second << 8 | first;
  }
  [[nodiscard]] std::uint32_t u32(std::size_t at) const noexcept {
    if (at > bytes_.size() || bytes_.size() - at < 4) return 0;
    const std::uint32_t first = u16(at);
    const std::uint32_t second = u16(at + 2);
    return big_endian_ ? first << 16 | second : second << 16 | first;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  bool big_endian_;
};

}  // namespace

int tiff_orientation(std::span<const std::uint8_t> tiff) noexcept {
  if (tiff.size() < 8) return 1;
  const bool little = tiff[0] == 'I' && tiff[1] == 'I';
  const bool big = tiff[0] == 'M' && tiff[1] == 'M';
  if (!little && !big) return 1;
  const TiffReader reader(tiff, big);
  if (reader.u16(2) != 42) return 1;

  const std::size_t directory = reader.u32(4);
  const std::size_t entries = reader.u16(directory);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    if (entry > tiff.size() || tiff.size() - entry < kEntryBytes) return 1;
    if (reader.u16(entry) != kOrientationTag) continue;
    const std::uint32_t type = reader.u16(entry + 2);
    if (reader.u32(entry + 4) != 1 || (type != kShort && type != kLong)) return 1;
    const std::uint32_t value = type == kShort ? reader.u16(entry + 8) : reader.u32(entry + 8);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

int exif_orientation(std::span<const std::uint8_t> jpeg) noexcept {
  constexpr std::uint8_t kApp1 = 0xE1, kScan = 0xDA, kEnd = 0xD9, kTem = 0x01;
  std::size_t at = 2;  // after FF D8
  while (true) {
    // Like libjpeg: skips bytes that are not markers, and fill bytes FF.
    while (at < jpeg.size() && jpeg[at] != 0xFF) ++at;
    while (at < jpeg.size() && jpeg[at] == 0xFF) ++at;
    if (at >= jpeg.size()) return 1;
    const std::uint8_t marker = jpeg[at++];
    if (marker == kScan || marker == kEnd) return 1;
    const bool without_length = marker == 0 || marker == kTem || (marker >= 0xD0 && marker <= 0xD8);
    if (without_length) continue;
    if (jpeg.size() - at < 2) return 1;
    const std::size_t length = static_cast<std::size_t>(jpeg[at]) << 8 | jpeg[at + 1];
    if (length < 2 || length > jpeg.size() - at) return 1;
    const auto payload = jpeg.subspan(at + 2, length - 2);
    if (marker == kApp1 && payload.size() > kExifName.size() &&
        std::equal(kExifName.begin(), kExifName.end(), payload.begin())) {
      return tiff_orientation(payload.subspan(kExifName.size()));
    }
    at += length;
  }
}

}  // namespace unstarve
