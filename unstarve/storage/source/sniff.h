#pragma once
// Telling a format by the content of files in a folder: a name alone chooses which of them are looked at.
//
// Threads: free functions.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "unstarve/storage/source/source.h"

namespace unstarve {

// The first kHeadBytes of what a file holds, with gzip, zlib or Zstandard undone. Throws Error(kIo), and
// Error(kInput) as inflate_head().
[[nodiscard]] std::vector<std::uint8_t> content_front(const ByteSource& file);

// Whether first bytes may tell a format: those of an empty shard are none, or the zeros of a tar without members.
[[nodiscard]] bool tells_format(std::span<const std::uint8_t> content) noexcept;

// Whether the first file in the folder that tells its format, of those whose names `is_shard` accepts, begins as
// `is_content` says. One that cannot be
// read counts as one that does: opening it then says why it cannot.
[[nodiscard]] bool folder_begins(const Source& source, bool (*is_shard)(std::string_view name),
                                 bool (*is_content)(std::span<const std::uint8_t> front));

// Whether `name` ends in `ending`, in any case of ASCII letters. `ending` is in lower case.
[[nodiscard]] bool ends_in(std::string_view name, std::string_view ending) noexcept;

}  // namespace unstarve
