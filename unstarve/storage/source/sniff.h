#pragma once
// Detects a format by the content of files in a folder; only files with an accepted name are read.
//
// Threads: free functions.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "unstarve/storage/source/source.h"

namespace unstarve {

// The first kHeadBytes of a file, decompressed. Throws Error(kIo), and Error(kInput) as inflate_head().
[[nodiscard]] std::vector<std::uint8_t> content_front(const ByteSource& file);

// Whether first bytes can identify a format: an empty shard has none, and a tar without members has only zeros.
[[nodiscard]] bool identifies_format(std::span<const std::uint8_t> content) noexcept;

// Whether `is_content` accepts the first bytes of the folder's first non-empty file whose name `is_shard` accepts. A
// file that cannot be read counts as accepted: opening it then reports the reason.
[[nodiscard]] bool folder_begins(const Source& source, bool (*is_shard)(std::string_view name),
                                 bool (*is_content)(std::span<const std::uint8_t> front));

// Whether `name` ends in `ending`, ignoring the case of ASCII letters. `ending` is in lower case.
[[nodiscard]] bool ends_in(std::string_view name, std::string_view ending) noexcept;

}  // namespace unstarve
