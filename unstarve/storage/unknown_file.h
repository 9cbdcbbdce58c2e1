#pragma once
// A hint for messages about a file of unknown format: an archive that is not unpacked, an HTML page from a server, a
// list with other column names.
//
// Threads: a pure function. Failure: none.

#include <cstdint>
#include <span>
#include <string>

namespace unstarve {

// ": it is ..., <how to fix it>", or empty. `name`: path or URL; `head`: the first bytes.
[[nodiscard]] std::string describe_unknown_file(const std::string& name, std::span<const std::uint8_t> head);

}  // namespace unstarve
