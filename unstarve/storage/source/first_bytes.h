#pragma once
// The format that a file's first bytes identify: one predicate per format with a magic number or checksum, and a table.
//
// Formats recognise their files with these predicates. The index uses the table to reject a shard of another format,
// which would otherwise become one damaged record.
//
// Threads: pure functions.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace unstarve {

inline constexpr std::size_t kTarBlockBytes = 512;
using TarBlock = std::span<const std::uint8_t, kTarBlockBytes>;

// Whether the checksum of a tar header block is valid, for bytes summed as unsigned or, as some old programs did, as
// signed.
[[nodiscard]] bool has_right_checksum(TarBlock block) noexcept;
[[nodiscard]] bool is_zero_block(TarBlock block) noexcept;
// Whether the first block is a header with a valid checksum.
[[nodiscard]] bool begins_as_tar(std::span<const std::uint8_t> front) noexcept;

// The length of the TFRecord record that begins at `header`; nothing if its checksum is wrong or it exceeds
// kMaxRecordBytes. Precondition: kTfrecordHeaderBytes are readable.
inline constexpr std::size_t kTfrecordHeaderBytes = 12, kTfrecordFrameBytes = 16;  // around the data, header included
[[nodiscard]] std::optional<std::uint64_t> tfrecord_length(const std::uint8_t* header) noexcept;
[[nodiscard]] bool begins_as_tfrecord(std::span<const std::uint8_t> front) noexcept;

inline constexpr std::uint32_t kRecordioMagic = 0xced7230a;
// Whether the first 8 bytes are the magic, a flag that begins a record and a length.
[[nodiscard]] bool begins_as_recordio(std::span<const std::uint8_t> front) noexcept;

// PAR1, or PARE for a file with an encrypted footer.
[[nodiscard]] bool begins_as_parquet(std::span<const std::uint8_t> front) noexcept;
[[nodiscard]] bool is_npy(std::span<const std::uint8_t> front) noexcept;
[[nodiscard]] bool is_idx_images(std::span<const std::uint8_t> front) noexcept;
[[nodiscard]] bool is_idx_labels(std::span<const std::uint8_t> front) noexcept;

// The number of bytes that format_of_first_bytes() needs at most.
inline constexpr std::size_t kFirstBytes = kTarBlockBytes;

// The name of the format (RecordFormat::name()) that `front`, decompressed, identifies; "" if none does.
[[nodiscard]] std::string_view format_of_first_bytes(std::span<const std::uint8_t> front);

}  // namespace unstarve
