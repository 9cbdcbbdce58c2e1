#pragma once
// Detects, without listing a folder again, whether its names are unchanged.
//
// A file system updates the times of a folder whenever an entry is added, removed or renamed, so a folder with the same
// inode, times and size as before has the same names, under two conditions that can_be_cached() checks:
//
//   reliable times  FUSE mounts of object stores do not update them for another machine; a time may be missing (0).
//   not racy        when the listing began, the times were older than the coarsest clock step (2 s, FAT). Otherwise a
//                   change right after the listing could leave the same time (git: technical/racy-git.txt).
//
// Both mtime and ctime are compared: archivers set back mtime. The target of a symbolic link can change while its
// folder does not: folders reached through links are checked by path, other links by the kind of their target.
//
// Threads: free functions, plain data.

#include <cstdint>
#include <span>
#include <string>

#include "unstarve/core/file_descriptor.h"
#include "unstarve/storage/source/folder_scan.h"

namespace unstarve {

struct FolderStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;  // both since 1970
  std::int64_t changed_ns = 0;
  std::uint64_t bytes = 0;  // st_size of the folder itself
  friend bool operator==(const FolderStamp&, const FolderStamp&) = default;
};

// A folder, or a link to anything else, found while listing. Paths are relative to the root; "" is the root itself.
struct SeenFolder {
  std::string path;
  FolderStamp stamp;
  friend bool operator==(const SeenFolder&, const SeenFolder&) = default;
};
struct SeenLink {
  std::string path;
  EntryKind kind = EntryKind::kFile;
  friend bool operator==(const SeenLink&, const SeenLink&) = default;
};

// Throws Error(kIo); `shown` is the path in the message.
[[nodiscard]] FolderStamp stamp_of(const FileDescriptor& folder, const std::string& shown);

// Whether a listing of `folders` below the open folder `root` that began at `began_ns` can be cached (see above).
[[nodiscard]] bool can_be_cached(int root, std::span<const SeenFolder> folders, std::int64_t began_ns);

// Whether all folders and links are unchanged. Device numbers change with every mount: they are compared only for which
// folders share a device. Cost: one stat per folder and link, on several threads if there are many.
[[nodiscard]] bool unchanged(int root, std::span<const SeenFolder> folders, std::span<const SeenLink> links);

}  // namespace unstarve
