#pragma once
// `unstarve verify DST`: check a packed folder against its manifest.
//
// Each shard (and its index file) must exist with the length and checksum of the manifest, and contain the number of
// records that the reader of its format counts; no other shard may exist. Several shards are checked concurrently;
// problems are reported in manifest order.
//
// Threads: one caller. Failure: Error(kIo) and Error(kInput) if the manifest is missing, unreadable or inconsistent;
//          Error(kArgument) for an incomplete pack. A wrong shard is part of the result.
// Cost:    every byte is read once, without changing the page cache (summed_file.h). Checksums within the format are
//          verified too; for Parquet this requires a second read, through the page cache.

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

// See "verify" in docs/reference/json.md.
[[nodiscard]] std::string to_json(const VerifyResult& result, const std::filesystem::path& folder);
[[nodiscard]] std::string to_text(const VerifyResult& result, const std::filesystem::path& folder);

}  // namespace unstarve
