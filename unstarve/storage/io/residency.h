#pragma once
// Whether data that are about to be read lie in the page cache, and how many reads at once would pay where they do not.
//
// Threads: free functions. Failure: none; where the kernel does not tell, files count as cached.
// Source: preadv2(2), RWF_NOWAIT: a read that would wait for the disk fails with EAGAIN instead. (mincore(2) tells
// nothing of files that the caller may not write.)

#include <cstdint>
#include <functional>

namespace unstarve {

// Whether the page at `offset` of an open file could be read without waiting for the disk.
[[nodiscard]] bool in_page_cache(int descriptor, std::uint64_t offset) noexcept;

// For Dataset::reads_in_flight() of local files: kDiskReads when more than one in eight of the records looked at,
// spread over 0 .. records - 1, is not `cached`, else 0. A record that throws Error counts as cached: reading it will
// tell.
inline constexpr int kDiskReads = 64;
inline constexpr int kServerReads = 64;
[[nodiscard]] int rewarding_reads(std::uint64_t records, const std::function<bool(std::uint64_t)>& cached);

}  // namespace unstarve
