#pragma once
// The images below one class folder, at any depth, in their order: by the folder's path, then by file name, bytewise.
//
// Threads: a free function; several classes may be listed at once. Failure: Error(kIo) for a folder that cannot be
// read.
// Cost:    readdir(), about 0.25 us per file, and a sort that compares eight bytes at once.

#include <cstdint>
#include <string>
#include <vector>

#include "unstarve/storage/formats/folder/folder_stamp.h"

namespace unstarve {

struct ClassFiles {
  std::vector<char> pool;            // paths relative to the class folder, each ended by NUL
  std::vector<std::uint64_t> names;  // where in the pool each begins, in order
  std::vector<SeenFolder> folders;   // that were met, also those not entered again; paths from the root on
  std::vector<SeenLink> links;       // to anything but folders
};

// Of the class folder `name` below the open folder `root`, whose path for messages is `root_path`. Links are followed;
// a folder is entered once, so that loops end.
[[nodiscard]] ClassFiles list_class(int root, const std::string& root_path, const std::string& name);

}  // namespace unstarve
