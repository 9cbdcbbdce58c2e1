#pragma once
// Which file of a folder is a published archive: told by its name, decided by its checksum.
//
// Of files with the published name, then of those with the published length, the one whose checksum is right is taken.
// Where no checksum is published, name and (where published) length decide, and the result says so.
//
// Threads:  one call. Failure: Error(kInput) when none is it: with the file and both checksums for one that has the
//           name but another content, with the name of the right archive for another form of the set, else with what is
//           missing and where it is published. Error(kIo).

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "unstarve/jobs/prepare/catalogue.h"

namespace unstarve {

struct FoundArchive {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::string checked;  // "sha256", "md5", "size" or "name": what decided
};

using Advanced = std::function<void(std::uint64_t bytes)>;

[[nodiscard]] FoundArchive find_archive(const CatalogueEntry& entry, const PublishedArchive& archive,
                                        const std::filesystem::path& folder, const Advanced& advanced = {});

// The one file; Error(kInput) when it is not the archive.
[[nodiscard]] FoundArchive check_archive(const PublishedArchive& archive, const std::filesystem::path& file,
                                         const Advanced& advanced = {});

}  // namespace unstarve
