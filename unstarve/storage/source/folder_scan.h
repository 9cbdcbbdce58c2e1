#pragma once
// The entries of one folder, with their types but without a stat per file.
//
// readdir() gives the type of an entry on every common file system; only symbolic links cost one fstatat(), and entries
// of unknown type one or two. Entries that are no data are left out (is_left_out()). The order is that of the file
// system: sort if it must be stable.
//
// Threads: free functions. Failure: Error(kIo) with the folder's path; Error(kCancelled) if core/cancel.h requests it.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/core/file_descriptor.h"

namespace unstarve {

enum class EntryKind { kFile, kFolder, kOther };

// Whether listings leave out an entry of this name: hidden files, `.`, `..`, the `._name` files that macOS creates, and
// folders that systems create next to data: __MACOSX, @eaDir, lost+found, ...
[[nodiscard]] bool is_left_out(std::string_view name) noexcept;

struct FolderEntry {
  std::string_view name;  // without '/'; valid during the visit
  EntryKind kind;         // of a link: kind of its target
  bool link;
};

// Opens the folder `relative` below the open folder `at` (or AT_FDCWD); `shown` is its path in messages.
[[nodiscard]] FileDescriptor open_folder(int at, const std::string& relative, const std::string& shown);

// Follows links to find their kind. A broken link counts as a file, so that reading it fails with its path instead of
// the sample silently missing.
void scan_folder(FileDescriptor folder, const std::string& shown,
                 const std::function<void(const FolderEntry& entry)>& visit);

// The kind of `path` below the open folder `at`, or of its link target; nothing if stat fails.
[[nodiscard]] std::optional<EntryKind> entry_kind(int at, const char* path) noexcept;

// All names of a (small) folder, each list sorted bytewise.
struct FolderListing {
  std::vector<std::string> folders;
  std::vector<std::string> files;
};
[[nodiscard]] FolderListing list_folder(const std::string& path);

// Whether `name` ends in .jpg, .jpeg, .png or .webp, in any case.
[[nodiscard]] bool has_image_extension(std::string_view name) noexcept;
// Whether it ends as the names of other images, which no format reads: .bmp, .gif, .tif, ...
[[nodiscard]] bool has_unread_image_extension(std::string_view name) noexcept;

}  // namespace unstarve
