#pragma once
// Lists the images below one class folder, at any depth, ordered by folder path, then by file name, bytewise.
//
// Threads: a free function; classes may be listed concurrently.
// Failure: Error(kIo) for a folder that cannot be read.
// Cost:    readdir(), about 0.25 us per file, and a sort.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "unstarve/storage/formats/folder/folder_stamp.h"

namespace unstarve {

struct ClassFiles {
  std::vector<char> pool;            // paths relative to the class folder, each NUL-terminated
  std::vector<std::uint64_t> names;  // offset of each path in the pool, in order
  std::vector<SeenFolder> folders;   // all folders found, with paths relative to the root
  std::vector<SeenLink> links;       // links to anything but folders
  std::uint64_t unread = 0;          // images of formats that are not supported
  std::string first_unread;          // one of them, as a path relative to the root
};

// Lists the class folder `name` below the open folder `root`; `root_path` is the path of `root` in messages. Links are
// followed; a folder is entered only once, so link loops end.
[[nodiscard]] ClassFiles list_class(int root, const std::string& root_path, const std::string& name);

// The order of files: by folder path, then by file name, bytewise.
[[nodiscard]] bool path_comes_before(std::string_view a, std::string_view b) noexcept;

}  // namespace unstarve
