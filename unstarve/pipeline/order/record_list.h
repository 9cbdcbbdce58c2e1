#pragma once
// A list of record numbers as text, for specs.
//
//   0-99,105,200-300     numbers and ranges, ascending
//   bits:AAEC...         one bit per record in base64 (core/base64.h), for long lists
//
// Threads: pure. Failure: Error(kArgument) without the node (the caller adds it).

#include <cstdint>
#include <string>
#include <vector>

namespace unstarve {

// Ascending, without repetitions, below `records`.
[[nodiscard]] std::vector<std::uint32_t> records_in(const std::string& text, std::uint64_t records);

}  // namespace unstarve
