#pragma once
// Parses the index and the samples of MDS, the format of MosaicML streaming.
//
// Layout (mosaicml-streaming, docs "Dataset format" and format/mds): a folder with index.json and shards.
//
//   index.json   {"version": 2, "shards": [{"format": "mds", "samples": 100, "compression": null or "zstd:3",
//                  "column_names": ["image", "label"], "column_encodings": ["jpeg", "int"], "column_sizes": [null, 8],
//                  "raw_data": {"basename": "shard.00000.mds", "bytes": 12345, "hashes": {}},
//                  "zip_data": null or as raw_data}, ...]}
//   shard        | n u32 | n + 1 offsets u32 from the file's start | JSON, as above | sample 0 | sample 1 | ... |
//   sample       | one length u32 for each column without a fixed size | the values of the columns |
//
// All numbers are little-endian.
//
// Checked:   structure and types of the index, equal columns of all shards, file names inside of the folder; in a
//            sample, that the values fill it exactly. Hashes are not checked.
// Threads:   pure functions. Failure: Error(kInput) without the file name (the caller adds it).

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
  std::uint32_t fixed_bytes = 0;  // 0: stored in each sample
  friend bool operator==(const MdsColumn&, const MdsColumn&) = default;
};

struct MdsFile {
  std::string name;  // relative to the folder of the index
  std::uint64_t bytes = 0;
};

struct MdsShard {
  MdsFile raw;
  MdsFile zip;              // empty name: not compressed
  std::string compression;  // "zstd" of "zstd:3"; empty for none
  std::uint64_t samples = 0;
};

struct MdsIndex {
  std::vector<MdsColumn> columns;
  std::vector<MdsShard> shards;
};

[[nodiscard]] MdsIndex parse_mds_index(std::string_view json);

// The value of column `which` of a sample. Precondition: which < columns.size().
[[nodiscard]] std::span<const std::uint8_t> mds_value(std::span<const std::uint8_t> sample,
                                                      std::span<const MdsColumn> columns, std::size_t which);

// Whether values of this encoding are integers: int, int8 ... uint64, str_int.
[[nodiscard]] bool is_mds_integer(std::string_view encoding) noexcept;
// Precondition: is_mds_integer(encoding). Throws for a number outside of int64.
[[nodiscard]] std::int64_t mds_integer(std::string_view encoding, std::span<const std::uint8_t> value);

// A "pil" value: contiguous raw pixels of mode "RGB" or "L"; other modes throw.
struct MdsPixels {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  int channels = 3;
  std::span<const std::uint8_t> pixels;
};
[[nodiscard]] MdsPixels parse_mds_pil(std::span<const std::uint8_t> value);

}  // namespace unstarve
