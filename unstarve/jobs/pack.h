#pragma once
// `unstarve pack SRC DST`: any data set, record by record, into shards that are read at the disk's speed.
//
//   SRC ── open_dataset() ── plan: splits, order, shards ──▶ threads: read, decode, resize, encode ──▶ shard by shard
//
//   DST/train-00000.tar  DST/train-00001.tar  ...  DST/val-00000.tar     ("data-00000.tar" without splits)
//   DST/train-00000.tar.jpeg.unstarve-index                              scan indexes, where they are asked for
//   DST/manifest.json                                                    written last: pack_manifest.h
//   DST/.unstarve-pack/                                                  while packing: pack_folder.h
//
// The same: shards and manifest are a function of the source's records and the options that say what is made. They are
//            equal bit by bit for any number of threads, for one run or one that was killed and started again, and for
//            one machine or several parts.
// Splits:    by a hash of each sample's key (its place relative to SRC) that depends on nothing else, so a sample stays
//            in its split when others are added, whatever the seed.
// Shards:    of equally many records of one split; how many is estimated from up to 64 of them, so that every part
//            finds the same plan without having seen the others' records.
// Images:    kept byte for byte unless they change. `resize`: a short side that is longer becomes that long. What was
//            resized is encoded as it was stored (JPEG at kDefaultQuality; of WebP, lossy ones as JPEG, lossless ones
//            as PNG), or everything as JPEG where `quality` says how. Raw pixels become PNG. Kept images are looked at:
//            header, and a whole decode where the end is not that of a whole file; `check` decodes all.
// Indexes:   with `scan_index` each JPEG that is packed is read to its end, so that the first epoch over the shards
//            decodes crops as fast as later ones do. It takes about the time of decoding: reading alone sets the pace
//            of a pack that keeps its bytes otherwise.
// Damage:    a damaged record fails the job (the first one in the order of the shards), or is left out, counted and
//            listed.
//
// Threads:   one caller; workers of its own, and one that brings finished shards to the disk.
// Failure:   Error. What is finished stays and the same call goes on from there; nothing half-written has a final name.
//            Error(kArgument) also where DST is not empty and not of this very pack, where it is or lies in SRC, or
//            while another process writes the same shard.
// Cost:      8 bytes of memory per record, and a window of some hundred records.

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/pack/pack_manifest.h"

namespace unstarve {

inline constexpr int kDefaultQuality = 90;

struct SplitShare {
  std::string name;
  double share = 0;
};

// Of n parts the i-th does the shards whose number leaves the remainder i: 0 .. n - 1 are all parts, and so are 1 .. n.
struct PackPart {
  std::uint64_t number = 0;
  std::uint64_t of = 1;
};

struct PackOptions {
  // What is made: the same in every part and when a run goes on.
  std::string format;        // a name of writer_formats()
  std::string source_split;  // of the source: "train", ...; "" for everything
  int resize = 0;            // short side in pixels; 0: as it is
  int quality = 0;           // of JPEG, 1 to 100; 0: bytes are kept where nothing changes
  double shard_mb = 100;     // about so many million bytes
  bool shuffle = false;
  std::uint64_t seed = 0;          // of the shuffle
  std::vector<SplitShare> splits;  // shares add up to 1; empty: one, called "data"
  std::filesystem::path exclude;   // quarantine list; "": none
  bool scan_index = false;         // beside each shard the scan indexes of its JPEGs: scan_index_file.h
  // How it is made.
  PackPart part;
  bool skip_damaged = false;
  bool check = false;  // decode every image, also those that are kept
  int threads = 0;     // 0: as many as processors, four times as many where nothing is decoded
};

struct PackResult {
  PackManifest manifest;           // of what is finished, this part or all
  std::uint64_t shards_made = 0;   // by this call
  std::uint64_t shards_found = 0;  // were there already
  std::uint64_t records_made = 0;
  std::uint64_t bytes_made = 0;
  double seconds = 0;
  bool complete = false;  // every shard of every part is there, and the manifest
  std::uint64_t shards_in_all = 0;
  std::uint64_t excluded = 0;
  std::uint64_t exclude_entries = 0;  // of the quarantine list; those that name no record here are not in `excluded`
};

// Throws Error(kArgument): "train=0.9,val=0.1" and "3/8".
[[nodiscard]] std::vector<SplitShare> parse_splits(const std::string& text);
[[nodiscard]] PackPart parse_part(const std::string& text);

[[nodiscard]] PackResult run_pack(const std::string& source, const std::filesystem::path& folder,
                                  const PackOptions& options, const Progress& progress = {}, std::stop_token stop = {});

// {path, format, complete, records, bytes, splits{}, shards[], skipped[], excluded, shards_made, shards_found, seconds}
[[nodiscard]] std::string to_json(const PackResult& result, const std::filesystem::path& folder);
[[nodiscard]] std::string to_text(const PackResult& result, const std::filesystem::path& folder);

}  // namespace unstarve
