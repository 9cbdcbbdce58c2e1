#pragma once
// The entries of one folder, told apart without a stat per file.
//
// readdir() already gives the type of an entry on every common file system; only symbolic links and entries of unknown
// type cost one fstatat(). Entries whose name begins with a dot are left out: `.`, `..`, hidden files, and the `._name`
// files that macOS puts beside copies. Order: as the file system gives it; sort what must be stable.
//
// Threads: free functions. Failure: Error(kIo) with the folder's path.

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unstarve/storage/file_descriptor.h"

namespace unstarve {

enum class EntryKind { kFile, kFolder, kOther };

// The identity of a folder whatever path leads to it.
using FolderIdentity = std::pair<dev_t, ino_t>;

// Opens the folder `relative` below the open folder `at` (or AT_FDCWD); `shown` is its path in messages.
[[nodiscard]] FileDescriptor open_folder(int at, const std::string& relative, const std::string& shown);
[[nodiscard]] FolderIdentity identity_of(const FileDescriptor& folder, const std::string& shown);

// Links are followed to learn what they lead to. A link that leads nowhere counts as a file, so that reading it fails
// with its path instead of the sample silently missing.
void scan_folder(FileDescriptor folder, const std::string& shown,
                 const std::function<void(std::string_view name, EntryKind kind)>& visit);

// All names of a (small) folder, each list sorted bytewise.
struct FolderListing {
  std::vector<std::string> folders;
  std::vector<std::string> files;
};
[[nodiscard]] FolderListing list_folder(const std::string& path);

// Whether `name` ends in .jpg, .jpeg or .png, in any case.
[[nodiscard]] bool has_image_extension(std::string_view name) noexcept;

}  // namespace unstarve
