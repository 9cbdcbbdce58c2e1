#pragma once
// What tells, without listing it again, that a folder still holds the names it held.
//
// A file system changes a folder's times whenever an entry is added, removed or renamed in it. A folder that has the
// same inode, times and size as before therefore has the same names, under two conditions that may_be_kept() checks:
//
//   times tell      The file system is one that keeps this promise. Mounts of object stores through FUSE do not (what
//                   another machine adds changes no time), nor does a folder without a time (0, as FAT's root).
//   not racy        The times were older than any file system's clock is coarse when the listing began. Else a change
//                   right behind the listing could leave the same time, since the clock had not moved on. Version
//                   control systems treat their index of files so: git's Documentation/technical/racy-git.txt,
//                   Mercurial's dirstate-v2. The coarsest clock is FAT's, whose times step by 2 s.
//
// The times are those of data (mtime) and of status (ctime): the first can be set back by unpackers and copiers, the
// second by no one.
//
// What a symbolic link leads to may change while the folder of the link does not: folders behind links are looked at by
// their path, links to anything else are remembered with what they led to.
//
// Threads: free functions, plain data.

#include <cstdint>
#include <span>
#include <string>

#include "unstarve/storage/bytes/file_descriptor.h"
#include "unstarve/storage/source/folder_scan.h"

namespace unstarve {

struct FolderStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;  // both since 1970
  std::int64_t changed_ns = 0;
  std::uint64_t bytes = 0;  // of the folder itself, as the file system counts them
  friend bool operator==(const FolderStamp&, const FolderStamp&) = default;
};

// A folder, or a link to anything else, that was met in listing; paths are relative to the root, "" the root itself.
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

// Throws Error(kIo) with `shown`.
[[nodiscard]] FolderStamp stamp_of(const FileDescriptor& folder, const std::string& shown);

// Whether a listing begun at `began_ns` that met `folders` below the open folder `root` may be kept, as above.
[[nodiscard]] bool may_be_kept(int root, std::span<const SeenFolder> folders, std::int64_t began_ns);

// Whether all is as it was. Of `device` only which folders share one counts: numbers of devices change with every
// mount. Cost: a stat per folder and link, in several threads where they are many.
[[nodiscard]] bool unchanged(int root, std::span<const SeenFolder> folders, std::span<const SeenLink> links);

}  // namespace unstarve
