#pragma once
// MosaicML streaming's MDS: the index of a data set and the samples of a shard, as pure parsers.
//
// Layout (mosaicml-streaming, docs "Dataset format" and format/mds): a folder with index.json and shards.
//
//   index.json   {"version": 2, "shards": [{"format": "mds", "samples": 100, "compression": null or "zstd:3",
//                  "column_names": ["image", "label"], "column_encodings": ["jpeg", "int"], "column_sizes": [null, 8],
//                  "raw_data": {"basename": "shard.00000.mds", "bytes": 12345, "hashes": {}},
//                  "zip_data": null or as raw_data}, ...]}
//   shard        | n u32 | n + 1 offsets u32 from the file's start | JSON, as above | sample 0 | sample 1 | ... |
//   sample       | one length u32 for each column of no fixed size | the columns' values, one after the other |
//
// All numbers little-endian.
//
// Checked:   the index's shape and types, that shards agree in their columns, that names lead nowhere out of the
//            folder; every length within a sample, and that the values fill it exactly. Hashes are not looked at.
// Threads:   pure functions. Failure: Error(kInput) with what was found, without the file (the caller adds it).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

inline constexpr std::uint64_t kMaxMdsIndexBytes = std::uint64_t{256} << 20;

struct MdsColumn {
  std::string name;
  std::string encoding;           // "jpeg", "int", "str", ...
  std::uint32_t fixed_bytes = 0;  // 0: told by each sample
  friend bool operator==(const MdsColumn&, const MdsColumn&) = default;
};

struct MdsFile {
  std::string name;  // below the index's folder
  std::uint64_t bytes = 0;
};

struct MdsShard {
  MdsFile raw;
  MdsFile zip;              // name is empty when the shard is not compressed
  std::string compression;  // "zstd" of "zstd:3"; empty for none
  std::uint64_t samples = 0;
};

struct MdsIndex {
  std::vector<MdsColumn> columns;
  std::vector<MdsShard> shards;
};

[[nodiscard]] MdsIndex parse_mds_index(std::string_view json);

// The value of column number `which` in a sample. Precondition: which < columns.size().
[[nodiscard]] std::span<const std::uint8_t> mds_value(std::span<const std::uint8_t> sample,
                                                      std::span<const MdsColumn> columns, std::size_t which);

// Whether values of this encoding are whole numbers: int, int8 ... uint64, str_int.
[[nodiscard]] bool is_mds_integer(std::string_view encoding) noexcept;
// Precondition: is_mds_integer(encoding). A number beyond the range of int64 throws.
[[nodiscard]] std::int64_t mds_integer(std::string_view encoding, std::span<const std::uint8_t> value);

// A "pil" value: raw pixels without a gap, of mode "RGB" or "L"; other modes throw.
struct MdsPixels {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  int channels = 3;
  std::span<const std::uint8_t> pixels;
};
[[nodiscard]] MdsPixels parse_mds_pil(std::span<const std::uint8_t> value);

}  // namespace unstarve
