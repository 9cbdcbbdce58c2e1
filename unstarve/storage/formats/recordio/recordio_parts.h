#pragma once
// Parses one record of RecordIO, as dmlc-core writes it for MXNet, and its image header.
//
// Layout (dmlc-core recordio.h; mxnet recordio.py); numbers are little-endian, parts are zero-padded to a multiple of
// 4:
//
//   | magic 0xced7230a | flag 3 bits, length 29 bits | bytes ... fill |                    a record in one part: flag 0
//   | magic | 1, length | bytes | magic | 2, length | bytes | ... | magic | 3, length | bytes fill |        in several
//
// A record is split where four aligned bytes equal the magic: these bytes are omitted and belong between the parts. A
// magic at a multiple of 4 is therefore always the beginning of a part, which makes damage recoverable.
//
// The bytes of an image record:
//
//   | flag u32 | label f32 | id u64 | id2 u64 | flag > 0: flag labels f32 | encoded image |
//
// Records of InsightFace with two labels and no image are left out of a shard: they hold ranges of ids.
//
// Label:     `label`, or the only one of the labels if flag > 0. Floats and several labels are not classes: such an
//            image has no label.
// Threads:   pure functions. Failure: Error(kInput) without file and offset (the caller adds them).

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "unstarve/storage/source/first_bytes.h"

namespace unstarve {

inline constexpr std::size_t kRecordioHeadBytes = 8;

enum class RecordioFlag : std::uint8_t { kWhole = 0, kFirst = 1, kMiddle = 2, kLast = 3 };

struct RecordioHead {
  RecordioFlag flag = RecordioFlag::kWhole;
  std::uint32_t length = 0;
  [[nodiscard]] constexpr bool begins() const noexcept {
    return flag == RecordioFlag::kWhole || flag == RecordioFlag::kFirst;
  }
  [[nodiscard]] constexpr bool ends() const noexcept {
    return flag == RecordioFlag::kWhole || flag == RecordioFlag::kLast;
  }
  // Size of the part with head and padding.
  [[nodiscard]] constexpr std::uint64_t stored_bytes() const noexcept {
    return kRecordioHeadBytes + (std::uint64_t{length} + 3) / 4 * 4;
  }
};

// Whether four bytes are the magic. Precondition: they are readable.
[[nodiscard]] bool is_recordio_magic(const std::uint8_t* bytes) noexcept;

// Throws for a wrong magic or an invalid flag. Precondition: kRecordioHeadBytes bytes.
[[nodiscard]] RecordioHead parse_recordio_head(std::span<const std::uint8_t> bytes);

// Whether `stored` begins with a record in several parts.
[[nodiscard]] bool is_recordio_in_parts(std::span<const std::uint8_t> stored) noexcept;

// The data of the stored record: a view of `stored` if there is one part, otherwise the parts joined in `buffer`, which
// has stored.size() bytes and may be `stored` itself.
[[nodiscard]] std::span<const std::uint8_t> join_recordio(std::span<const std::uint8_t> stored, std::uint8_t* buffer);

// Whether `record` has two labels and no image, as InsightFace writes the ranges of ids of a person.
[[nodiscard]] bool is_insightface_range(std::span<const std::uint8_t> record) noexcept;

struct RecordioImage {
  std::optional<std::int64_t> label;
  std::string no_label;  // why there is none
  std::uint64_t id = 0;
  std::span<const std::uint8_t> encoded;
};

// `labelled` false: labels are skipped, whatever they are.
[[nodiscard]] RecordioImage parse_recordio_image(std::span<const std::uint8_t> record, bool labelled = true);

}  // namespace unstarve
