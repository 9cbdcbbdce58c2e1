#pragma once
// `unstarve verify DST`: whether a packed folder is what its manifest says.
//
// Each shard (and the index beside it) is there, has its length, its checksum and, counted by the format's own reader,
// its number of records; no shard is there that the manifest does not know. All are looked at, several at once; what is
// wrong is told in the order of the manifest.
//
// Threads:   one caller. Failure: Error(kIo) and Error(kInput) when there is no manifest, it cannot be read, or
//            contradicts itself; Error(kArgument) for a pack that is not complete. A wrong shard is part of the result.
// Cost:      every byte is read once, by plain reads that leave the page cache as it was (summed_file.h); formats with
//            checksums of their own check those, too. Parquet is read once more for them, through the page cache.

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/pack/pack_manifest.h"

namespace unstarve {

struct WrongFile {
  std::string file;
  std::string reason;
};

struct VerifyResult {
  PackManifest manifest;
  std::vector<WrongFile> wrong;
  [[nodiscard]] bool ok() const { return wrong.empty(); }
};

// `threads` 0: every usable core.
[[nodiscard]] VerifyResult run_verify(const std::filesystem::path& folder, int threads = 0,
                                      const Progress& progress = {}, std::stop_token stop = {});

// {path, ok, format, records, bytes, shards, splits{}, wrong[] {file, reason}}
[[nodiscard]] std::string to_json(const VerifyResult& result, const std::filesystem::path& folder);
[[nodiscard]] std::string to_text(const VerifyResult& result, const std::filesystem::path& folder);

}  // namespace unstarve
