#pragma once
// What a file that no format takes most likely is, for people: an archive that is not unpacked, a page that a server
// sent instead, a list whose columns have other names.
//
// Threads: a pure function. Failure: none.

#include <cstdint>
#include <span>
#include <string>

namespace unstarve {

// `name` is its path or URL, `head` its first bytes; ": what it is, and what helps", or empty.
[[nodiscard]] std::string what_it_is(const std::string& name, std::span<const std::uint8_t> head);

}  // namespace unstarve
