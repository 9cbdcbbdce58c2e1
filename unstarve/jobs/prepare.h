#pragma once
// `unstarve prepare NAME --from DIR|URL --out DST`: from the archives that a data set is published as to a form that is
// read, and to shards where that is asked for.
//
//   archives ── find or download ── checksum ── unpack ── layout ──▶ DST             (work_folder.h: DST.partial)
//                                                              └─ run_pack() ──▶ DST/train/ DST/val/ ...  (or DST/)
//
// From:      a folder with the archives (told by name, decided by checksum), a URL below which they lie under their
//            published names, or "" for the URLs where they are published.
// Splits:    as published; with shards a folder per split. A set that is published without gets those of the shares of
//            PackOptions, if any.
// Checked:   every archive by its published checksum (or what there is of it: ArchiveOutcome::checked says), then that
//            each split has as many samples as published.
// Again:     killed at any moment, the same call goes on: archives that are unpacked are not looked at any more, a
//            download goes on where it was. A DST that holds the same set is left as it is.
//
// Threads:   one call per DST (a second one is refused). `progress` as progress.h.
// Failure:   Error(kInput) for archives that are missing, damaged or of another form, and for data that is not as
//            published; Error(kArgument) for options that make no sense and for a DST that holds something else;
//            Error(kIo); Error(kCancelled) by `stop`. What is done stays.
// Cost:      each archive is read twice (checksum, unpacking); DST.partial holds downloads and what they unpack to.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "unstarve/jobs/common/progress.h"
#include "unstarve/jobs/pack.h"
#include "unstarve/jobs/prepare/catalogue.h"

namespace unstarve {

struct PrepareOptions {
  std::string only;                 // one published split; "": all
  bool keep_archives = false;       // downloads stay, in DST.archives
  std::optional<PackOptions> pack;  // nothing: the data as files
};

struct ArchiveOutcome {
  std::string file;
  std::string path{};  // where it was found; empty when an earlier run was done with it
  std::uint64_t bytes = 0;
  std::string checked{};  // "sha256", "md5", "size" or "name"; "earlier": by an earlier run
  bool downloaded = false;
  std::uint64_t resumed_from = 0;  // of the download
  std::uint64_t files = 0;         // unpacked by this call
};

struct PreparedSplit {
  std::string name;  // "": the set has none
  std::uint64_t samples = 0;
  std::uint64_t unlabelled = 0;  // published, but without a label: in unlabelled.jsonl, not in `samples`
  std::string open;              // what to give to the other verbs, with the split's name where there is one
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

[[nodiscard]] PrepareResult run_prepare(const CatalogueEntry& entry, const std::string& from,
                                        const std::filesystem::path& out, const PrepareOptions& options,
                                        const Progress& progress = {}, std::stop_token stop = {});

[[nodiscard]] std::string to_json(const PrepareResult& result);
[[nodiscard]] std::string to_text(const PrepareResult& result);

}  // namespace unstarve
