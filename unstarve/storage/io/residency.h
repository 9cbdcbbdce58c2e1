#pragma once
// Detects whether data is in the page cache, and how many concurrent reads are useful if it is not.
//
// Threads: free functions. Failure: none; if the kernel does not report it, files count as cached.
// Source: preadv2(2), RWF_NOWAIT: a read that would wait for the disk fails with EAGAIN. (mincore(2) reports nothing
// for files that the caller may not write.)

#include <cstdint>
#include <functional>

namespace unstarve {

// Whether the page at `offset` of an open file could be read without waiting for the disk.
[[nodiscard]] bool in_page_cache(int descriptor, std::uint64_t offset) noexcept;

// For Dataset::reads_in_flight() of local files: kDiskReads if more than one in eight of the sampled records, spread
// over 0 .. records - 1, is not `cached`, else 0. A record that throws Error counts as cached; reading it reports the
// error.
inline constexpr int kDiskReads = 64;
inline constexpr int kServerReads = 64;
[[nodiscard]] int useful_reads(std::uint64_t records, const std::function<bool(std::uint64_t)>& cached);

}  // namespace unstarve
