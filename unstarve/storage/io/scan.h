#pragma once
// One pass over a local file from its start to its end, for checksums and the like.
//
// With `past_cache` the pages go past the page cache (O_DIRECT) where the file system allows it, so that a scan of more
// data than memory holds does not push out the pages that others use; where it does not (tmpfs, some network file
// systems), the pages are given up behind the scan.
//
// Threads: a free function. Failure: Error(kIo) with path and offset; an exception of `take` comes out as it is.

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace unstarve {

// Calls `take` with the file's bytes in order, up to kScanBytes at a time.
inline constexpr std::size_t kScanBytes = std::size_t{1} << 20;
void scan_file(const std::string& path, bool past_cache,
               const std::function<void(std::span<const std::uint8_t>)>& take);

}  // namespace unstarve
