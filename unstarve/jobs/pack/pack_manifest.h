#pragma once
// The content of a packed folder, as plain data and as DST/manifest.json:
//
//   {"unstarve": "0.1.0", "format": "webdataset", "records": 1280, "bytes": 23068672,
//    "options": {"resize": 256, "quality": 0, "shard_mb": 100.0, "shuffle": true, "seed": 0, "split": "train=9,val=1",
//                "source_split": "", "exclude": 2},
//    "source": {"format": "image folder", "records": 1282, "fingerprint": "5c6e..."},
//    "classes": ["cat", "dog"],
//    "splits": {"train": {"records": 1150, "bytes": ..., "shards": 3}, "val": {...}},
//    "shards": [{"file": "train-00000.tar", "split": "train", "records": 384, "bytes": 8100864, "crc32c": "0a1b2c3d",
//                "index": {"file": "train-00000.idx", "bytes": 5120, "crc32c": "..."},         (formats with one)
//                "scan_index": {"file": "train-00000.tar.jpeg.unstarve-index", ...},           (if requested)
//                "skipped": [{"file": "cat/1.jpg", "offset": 0, "reason": "..."}]}, ...]}      (if any)
//
// Entries of `skipped` are those of a quarantine list (quarantine_entry.h), with files relative to the source. The
// manifest contains no dates, hosts or thread counts: equal packs have equal manifests.
//
// Threads: values. Failure: Error(kInput) with the reason for an invalid manifest.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "unstarve/jobs/common/json.h"
#include "unstarve/storage/dataset/quarantine_entry.h"

namespace unstarve {

inline constexpr const char* kManifestName = "manifest.json";

struct FileSum {
  std::string file;  // its name in the folder
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
  friend bool operator==(const FileSum&, const FileSum&) = default;
};

struct ShardEntry {
  FileSum shard;
  FileSum index;  // of the index file of the format; empty name: none
  std::string split;
  std::uint64_t records = 0;
  std::vector<QuarantineEntry> skipped;
  FileSum scan_index{};  // of the file of scan indexes (scan_index_file.h); empty name: none
  friend bool operator==(const ShardEntry&, const ShardEntry&) = default;
};

struct SplitCount {
  std::string name;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t shards = 0;
};

struct PackManifest {
  std::string version;
  std::string format;
  std::string options;  // JSON text
  std::string source;   // JSON text
  std::vector<std::string> classes;
  std::vector<std::string> split_names;
  std::vector<ShardEntry> shards;  // in shard order

  [[nodiscard]] std::vector<SplitCount> splits() const;
  [[nodiscard]] std::uint64_t records() const;
  [[nodiscard]] std::uint64_t bytes() const;
};

[[nodiscard]] std::string to_json(const ShardEntry& entry);
// Messages start with `where`.
[[nodiscard]] ShardEntry shard_entry_from_json(const std::string& text, const std::string& where);

[[nodiscard]] std::string to_json(const PackManifest& manifest);
// {split: {records, bytes, shards}}
[[nodiscard]] Json splits_json(const PackManifest& manifest);
// Throws if the totals differ from the sums over the shards, or for file names outside the folder.
[[nodiscard]] PackManifest manifest_from_json(const std::string& text, const std::string& where);

}  // namespace unstarve
