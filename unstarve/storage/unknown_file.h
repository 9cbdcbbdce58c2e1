#pragma once
// Hints for messages about data of unknown format: what it is, and what to do. Archives that are not unpacked, formats
// of other libraries, damaged files, web pages, lists with other column names.
//
// Threads: a pure function. Failure: none.

#include <cstdint>
#include <span>
#include <string>

#include "unstarve/storage/source/folder_scan.h"

namespace unstarve {

// ": it is ..., <how to fix it>", or empty. `name`: path or URL; `head`: the first bytes.
[[nodiscard]] std::string describe_unknown_file(const std::string& name, std::span<const std::uint8_t> head);
[[nodiscard]] std::string describe_unknown_folder(const FolderListing& listing);

}  // namespace unstarve
