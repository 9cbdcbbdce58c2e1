#pragma once
// Prefetches memory into the first-level cache, one cache line at a time between other work. A core can have only one
// or two dozen lines in flight and other work needs some of them, so a burst stalls. On a Zen 5 core, 3 KB records in
// random order, stored as float32, were 1.25 times faster than with each record fetched in one burst.
//
// Threads: one. Failure: none; a line that cannot be fetched is ignored.

#include <cstddef>
#include <cstdint>
#include <span>

namespace unstarve {

class CacheFetch {
 public:
  CacheFetch() = default;
  // Borrows `bytes` until finish() or the last step(); never reads them.
  explicit CacheFetch(std::span<const std::uint8_t> bytes) : next_(bytes.data()), end_(next_ + bytes.size()) {}

  // Fetches the next line, if any is left.
  void step() noexcept {
    constexpr std::ptrdiff_t kLine = 64;
    if (next_ == end_) return;
    __builtin_prefetch(next_, /*rw=*/0, /*locality=*/3);
    // Ends with the last byte, which may be in one more line than the length suggests.
    next_ = end_ - next_ > kLine ? next_ + kLine : next_ + 1 == end_ ? end_ : end_ - 1;
  }
  // Fetches all remaining lines.
  void finish() noexcept {
    while (next_ != end_) step();
  }

 private:
  const std::uint8_t* next_ = nullptr;
  const std::uint8_t* end_ = nullptr;
};

}  // namespace unstarve
