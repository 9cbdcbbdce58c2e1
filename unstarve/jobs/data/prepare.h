#pragma once
// `unstarve prepare NAME --from DIR|URL --out DST`: convert the published archives of a dataset into a readable
// dataset, optionally into shards.
//
//   archives ── find or download ── checksum ── unpack ── layout ──▶ DST             (work_folder.h: DST.partial)
//                                                              └─ run_pack() ──▶ DST/train/ DST/val/ ...  (or DST/)
//
// Source:    a folder with the archives (found by name, verified by checksum), a base URL of the archives, or "" to
//            download them from their published URLs.
// Splits:    as published; shards are written to a folder per split. Datasets published without splits use those of
//            PackOptions, if any.
// Checks:    each archive against its published checksum (ArchiveOutcome::checked names the check), then the number of
//            samples of each split.
// Resuming:  after a kill at any moment the same call continues: unpacked archives are skipped and downloads resume. A
//            DST with the same dataset is left unchanged.
//
// Threads:   one call per DST (a second concurrent call fails). `progress` as in progress.h.
// Failure:   Error(kInput) for missing, damaged or different archives and for data that does not match the catalogue;
//            Error(kArgument) for invalid options or a DST with other content; Error(kIo); Error(kCancelled) by `stop`.
//            Finished steps stay.
// Cost:      each archive is read twice (checksum, unpacking); DST.partial holds downloads and unpacked files.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/data/pack.h"
#include "unstarve/jobs/prepare/catalogue.h"

namespace unstarve {

struct PrepareOptions {
  std::string from;                 // see "Source" above
  std::string only;                 // one published split; "": all
  bool keep_archives = false;       // keep downloads in DST.archives
  std::optional<PackOptions> pack;  // nullopt: files
};

struct ArchiveOutcome {
  std::string file;
  std::string path{};  // where it was found; empty if an earlier run has unpacked it
  std::uint64_t bytes = 0;
  std::string checked{};  // "sha256", "md5", "size", "name", or "earlier" (by an earlier run)
  bool downloaded = false;
  std::uint64_t resumed_from = 0;  // offset at which the download resumed
  std::uint64_t files = 0;         // unpacked by this call
};

struct PreparedSplit {
  std::string name;  // "": no splits
  std::uint64_t samples = 0;
  std::uint64_t unlabelled = 0;  // published without a label: in unlabelled.jsonl, not in `samples`
  std::string open;              // the DATA argument for other commands, including the split name
};

struct PrepareResult {
  std::string name;
  std::string path;
  std::uint64_t classes = 0;
  std::vector<PreparedSplit> splits;
  std::vector<ArchiveOutcome> archives;
  bool already_there = false;
  bool packed = false;
};

[[nodiscard]] PrepareResult run_prepare(const CatalogueEntry& entry, const std::filesystem::path& out,
                                        const PrepareOptions& options, const Progress& progress = {},
                                        std::stop_token stop = {});

[[nodiscard]] std::string to_json(const PrepareResult& result);
[[nodiscard]] std::string to_text(const PrepareResult& result);

}  // namespace unstarve
