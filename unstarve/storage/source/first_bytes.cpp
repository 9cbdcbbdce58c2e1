#include "unstarve/storage/source/first_bytes.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "unstarve/storage/bytes/crc.h"
#include "unstarve/storage/bytes/little_endian.h"
#include "unstarve/storage/dataset/dataset.h"

namespace unstarve {
namespace {

constexpr std::size_t kChecksumOffset = 148, kChecksumBytes = 8;  // in a tar header
constexpr std::size_t kTfrecordLengthBytes = 8;

bool begins_with(std::span<const std::uint8_t> front, std::string_view magic) noexcept {
  return front.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), front.begin(),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

// Octal digits between blanks, up to a NUL. No digit at all is 0: old programs leave unused fields empty.
std::optional<std::int64_t> stored_checksum(TarBlock block) noexcept {
  std::string_view digits(reinterpret_cast<const char*>(block.data()) + kChecksumOffset, kChecksumBytes);
  digits = digits.substr(0, digits.find('\0'));
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  digits = digits.substr(0, digits.find_last_not_of(' ') + 1);
  std::uint32_t value = 0;
  const char* const end = digits.data() + digits.size();
  if (!digits.empty() && std::from_chars(digits.data(), end, value, 8).ptr != end) return std::nullopt;
  return value;
}

struct Magic {
  std::string_view format;
  bool (*matches)(std::span<const std::uint8_t> front) noexcept;
};

// Those with a checksum first: the name of a tar's first member may be "PAR1".
constexpr std::array<Magic, 7> kMagics = {{
    {"webdataset", begins_as_tar},
    {"tfrecord", begins_as_tfrecord},
    {"recordio", begins_as_recordio},
    {"parquet", begins_as_parquet},
    {"npy", is_npy},
    {"idx", is_idx_images},
    {"idx", is_idx_labels},
}};

}  // namespace

bool has_right_checksum(TarBlock block) noexcept {
  const std::optional<std::int64_t> stored = stored_checksum(block);
  if (!stored) return false;
  std::uint32_t sum = 0;
  std::int32_t high = 0;  // number of bytes whose first bit is set: each makes the signed sum smaller by 256
  for (const std::uint8_t byte : block) {
    sum += byte;
    high += byte >> 7;
  }
  for (std::size_t i = kChecksumOffset; i < kChecksumOffset + kChecksumBytes; ++i) {
    sum = sum - block[i] + ' ';
    high -= block[i] >> 7;
  }
  return *stored == sum || *stored == std::int64_t{sum} - 256 * std::int64_t{high};
}

bool is_zero_block(TarBlock block) noexcept {
  return std::all_of(block.begin(), block.end(), [](std::uint8_t byte) { return byte == 0; });
}

bool begins_as_tar(std::span<const std::uint8_t> front) noexcept {
  if (front.size() < kTarBlockBytes) return false;
  const TarBlock block(front.data(), kTarBlockBytes);
  return has_right_checksum(block) && !is_zero_block(block);
}

std::optional<std::uint64_t> tfrecord_length(const std::uint8_t* header) noexcept {
  const std::uint64_t length = load_little<std::uint64_t>(header);
  if (length > kMaxRecordBytes - kTfrecordFrameBytes) return std::nullopt;
  const std::uint32_t crc = load_little<std::uint32_t>(header + kTfrecordLengthBytes);
  if (mask_crc32c(crc32c({header, kTfrecordLengthBytes})) != crc) return std::nullopt;
  return length;
}

bool begins_as_tfrecord(std::span<const std::uint8_t> front) noexcept {
  return front.size() >= kTfrecordHeaderBytes && tfrecord_length(front.data()).has_value();
}

bool begins_as_recordio(std::span<const std::uint8_t> front) noexcept {
  return front.size() >= 8 && load_little<std::uint32_t>(front.data()) == kRecordioMagic && front[7] >> 5 <= 1;
}

bool begins_as_parquet(std::span<const std::uint8_t> front) noexcept {
  return begins_with(front, "PAR1") || begins_with(front, "PARE");
}

bool is_npy(std::span<const std::uint8_t> front) noexcept { return begins_with(front, "\x93NUMPY"); }

// Two zero bytes, the element type, the number of dimensions.
bool is_idx_images(std::span<const std::uint8_t> front) noexcept {
  return front.size() >= 4 && front[0] == 0 && front[1] == 0 && front[2] == 0x08 && (front[3] == 3 || front[3] == 4);
}

bool is_idx_labels(std::span<const std::uint8_t> front) noexcept {
  constexpr std::string_view kIntegerTypes = "\x08\x09\x0B\x0C";
  return front.size() >= 4 && front[0] == 0 && front[1] == 0 && front[3] == 1 &&
         kIntegerTypes.find(static_cast<char>(front[2])) != std::string_view::npos;
}

std::string_view format_of_first_bytes(std::span<const std::uint8_t> front) {
  for (const Magic& magic : kMagics) {
    if (magic.matches(front)) return magic.format;
  }
  return "";
}

}  // namespace unstarve
