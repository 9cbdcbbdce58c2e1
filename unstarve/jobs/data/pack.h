#pragma once
// `unstarve pack SRC DST`: convert any dataset into shards that are read at disk speed.
//
//   SRC ── open_dataset() ── plan: splits, order, shards ──▶ threads: read, decode, resize, encode ──▶ shard by shard
//
//   DST/train-00000.tar  DST/train-00001.tar  ...  DST/val-00000.tar     ("data-00000.tar" without splits)
//   DST/train-00000.tar.jpeg.unstarve-index                              scan indexes, if requested
//   DST/manifest.json                                                    written last: pack_manifest.h
//   DST/.unstarve-pack/                                                  while packing: pack_folder.h
//
// Result:  shards and manifest depend only on the records of the source and on the options. They are bit-equal for any
//          number of threads, after a kill and restart, and for one machine or several parts.
// Splits:  by a hash of the key of each sample (its path relative to SRC). A sample stays in its split when other
//          samples are added, whatever the seed.
// Shards:  have the same number of records per split. The number of shards is estimated from up to 64 records, so that
//          every part computes the same plan without reading all records.
// Images:  copied byte for byte unless they change. `resize` shrinks images whose short side is longer. Resized images
//          keep their encoding (JPEG at kDefaultQuality; lossy WebP becomes JPEG, lossless WebP becomes PNG); with
//          `quality`, all images become JPEG. Raw pixels become PNG. Copied images are checked by their header, and by
//          a full decode if the end of the file is missing; `check` decodes all images.
// Indexes: `scan_index` entropy-decodes each packed JPEG, so that the first epoch over the shards decodes crops as fast
//          as later ones. This takes about as long as decoding; without it, a pack that copies bytes runs at read
//          speed.
// Damage:  the first damaged record (in shard order) fails the job; with `skip_damaged`, damaged records are left out,
//          counted and listed.
//
// Threads: one caller; starts its own workers and one thread that syncs finished shards to disk.
// Failure: Error. Finished shards stay, and the same call continues; no incomplete file has a final name.
//          Error(kArgument) if DST contains anything but this pack, if DST is SRC or inside SRC, or if another process
//          writes the same shard.
// Cost:    8 bytes of memory per record, and a window of a few hundred records.

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/pack/pack_manifest.h"
#include "unstarve/jobs/pack/pack_options.h"

namespace unstarve {

struct PackResult {
  PackManifest manifest;           // finished shards: of this part, or all
  std::uint64_t shards_made = 0;   // written by this call
  std::uint64_t shards_found = 0;  // finished earlier
  std::uint64_t records_made = 0;
  std::uint64_t bytes_made = 0;
  double seconds = 0;
  bool complete = false;  // all shards of all parts and the manifest exist
  std::uint64_t shards_total = 0;
  std::uint64_t excluded = 0;
  std::uint64_t exclude_entries = 0;  // of the quarantine list; entries without a matching record are not in `excluded`
};

[[nodiscard]] PackResult run_pack(const std::string& source, const std::filesystem::path& folder,
                                  const PackOptions& options, const Progress& progress = {}, std::stop_token stop = {});

// See "pack" in docs/reference/json.md.
[[nodiscard]] std::string to_json(const PackResult& result, const std::filesystem::path& folder);
[[nodiscard]] std::string to_text(const PackResult& result, const std::filesystem::path& folder);

}  // namespace unstarve
