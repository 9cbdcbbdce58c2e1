#pragma once
// Maps of files whose reader survives the file being shortened, or its disk failing, while it is read.
//
// Touching a page that a map can no longer bring raises SIGBUS, which ends the process. For guarded maps a handler puts
// a page of zeros in its place, notes where, and lets the reader go on; who has used bytes of a map asks check_map()
// before believing what came of them:
//
//   read, decode ──▶ check_map(bytes) ──▶ Error(kIo) with file and offset, or they were the file's
//
// The handler is installed once, with the first map, and hands on what is none of its business to the one before it; a
// handler that is installed later takes its place. Of a map that lost a page all from there on counts as lost until it
// is opened anew: nobody could tell zeros of ours from the file's.
//
// A file that is cut within a page keeps that page, its end read as zeros: unnoticed, until the next page is touched.
//
// Threads: free functions, any thread; a map is forgotten before it is unmapped and used by no one then.
// Failure: where the table of maps is full (65,536 at a time) a map stays unguarded.
// Cost:    check_map() is one load of a variable that nobody writes, until a page was lost in this process.

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "unstarve/core/image.h"

namespace unstarve {

// [begin, begin + bytes) is a map of the file `path` from its start.
void guard_map(const void* begin, std::size_t bytes, const std::string& path);
void forget_map(const void* begin) noexcept;

namespace map_guard_detail {
extern std::atomic<std::uint64_t> lost_pages;
void check_slowly(const void* begin, std::size_t bytes);
}  // namespace map_guard_detail

// Throws Error(kIo) with path and offset when `bytes` lie in a guarded map and a page of it, at their end or before,
// was lost. Other memory is always right.
inline void check_map(const void* begin, std::size_t bytes) {
  if (map_guard_detail::lost_pages.load(std::memory_order_acquire) != 0) map_guard_detail::check_slowly(begin, bytes);
}
inline void check_map(std::span<const std::uint8_t> bytes) { check_map(bytes.data(), bytes.size()); }
inline void check_map(const PixelView& view) {
  if (view.data == nullptr || map_guard_detail::lost_pages.load(std::memory_order_acquire) == 0) return;
  const std::ptrdiff_t last = (view.height - 1) * view.row_stride + (view.width - 1) * view.pixel_stride +
                              (kChannels - 1) * view.channel_stride;
  check_map(view.data, static_cast<std::size_t>(last) + 1);
}

}  // namespace unstarve
