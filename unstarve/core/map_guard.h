#pragma once
// Guarded file maps: the process survives if a mapped file is shortened, or its disk fails, while it is read.
//
// Accessing a page that is no longer available raises SIGBUS, which would end the process. For guarded maps, a signal
// handler replaces the page by zeros, records its offset and lets the reader continue. Code that has used bytes of a
// map calls check_map() before it trusts the result:
//
//   read, decode ──▶ check_map(bytes) ──▶ Error(kIo) with file and offset, or the bytes were valid
//
// The first map installs the handler. It forwards unrelated signals to the previous handler; a handler that is
// installed later replaces it. After a lost page, the rest of the map counts as lost until the file is opened again,
// because substituted zeros cannot be distinguished from the file's.
//
// A file that is cut within a page keeps that page and its end reads as zeros. This is not detected until the next page
// is accessed.
//
// Threads: free functions, any thread. Call forget_map() before unmapping, when no thread uses the map.
// Failure: if the table is full (65,536 maps at a time), a map stays unguarded.
// Cost:    check_map() is one load of a variable that is not written until a page is lost in this process.

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

// Throws Error(kIo) with path and offset if `bytes` are in a guarded map that has lost a page before their end. Memory
// outside of guarded maps is always valid.
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
