#pragma once
// Options of `unstarve pack`, as plain data.
//
// Threads: values and pure functions.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace unstarve {

inline constexpr int kDefaultQuality = 90;

struct SplitShare {
  std::string name;
  double share = 0;
};

// Part i of n writes the shards whose number is i modulo n. Both 0 .. n - 1 and 1 .. n are complete sets of parts.
struct PackPart {
  std::uint64_t number = 0;
  std::uint64_t of = 1;
};

struct PackOptions {
  // These determine the result: they must be equal in all parts and when a run is continued.
  std::string format;        // a name of storage/writer_formats.cpp
  std::string source_split;  // of the source: "train", ...; "": everything
  int resize = 0;            // short side in pixels; 0: no resize
  int quality = 0;           // of JPEG, 1 to 100; 0: unchanged images keep their bytes
  double shard_mb = 100;     // approximate size in 10^6 bytes
  bool shuffle = false;
  std::uint64_t seed = 0;          // of the shuffle
  std::vector<SplitShare> splits;  // shares add up to 1; empty: a single split "data"
  std::filesystem::path exclude;   // quarantine list; "": none
  bool scan_index = false;         // write the scan indexes of each shard's JPEGs next to the shard: scan_index_file.h
  // These do not affect the result.
  PackPart part;
  bool skip_damaged = false;
  bool check = false;  // decode all images, including unchanged ones
  int threads = 0;     // 0: one per CPU, or four per CPU if no image is decoded
};

// Throws Error(kArgument): "train=0.9,val=0.1" and "3/8".
[[nodiscard]] std::vector<SplitShare> parse_splits(const std::string& text);
[[nodiscard]] PackPart parse_part(const std::string& text);

}  // namespace unstarve
