#pragma once
// Finds the file of a published archive in a folder: candidates by name and length, verified by checksum.
//
// Files with the published name are checked first, then files with the published length; the first file with the
// published checksum is used. Without a published checksum, name and (if published) length decide; see `checked`.
//
// Threads: one caller.
// Failure: Error(kIo); Error(kInput) if no file matches. The message contains both checksums for a file with the
//          published name but other content, the expected archive for another variant of the dataset, otherwise the
//          missing archive and its URL.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "unstarve/jobs/prepare/catalogue.h"

namespace unstarve {

struct FoundArchive {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::string checked;  // the decisive check: "sha256", "md5", "size" or "name"
};

using Advanced = std::function<void(std::uint64_t bytes)>;

[[nodiscard]] FoundArchive find_archive(const CatalogueEntry& entry, const PublishedArchive& archive,
                                        const std::filesystem::path& folder, const Advanced& advanced = {});

// Checks a single file; Error(kInput) if it is not the archive.
[[nodiscard]] FoundArchive check_archive(const PublishedArchive& archive, const std::filesystem::path& file,
                                         const Advanced& advanced = {});

}  // namespace unstarve
