#include "unstarve/codecs/jpeg/entropy_bytes.h"

#include <cstring>

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/codecs/jpeg/entropy_bytes.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Copies bytes until the first FF, which is not copied; returns how many. May write a vector more than that.
std::size_t copy_to_ff(const std::uint8_t* source, std::size_t bytes, std::uint8_t* target) {
  const hn::CappedTag<std::uint8_t, 32> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto ff = hn::Set(d, 0xFF);
  std::size_t i = 0;
  for (; i + lanes <= bytes; i += lanes) {
    const auto v = hn::LoadU(d, source + i);
    hn::StoreU(v, d, target + i);
    const auto found = hn::FindFirstTrue(d, hn::Eq(v, ff));
    if (found >= 0) return i + static_cast<std::size_t>(found);
  }
  for (; i < bytes && source[i] != 0xFF; ++i) target[i] = source[i];
  return i;
}

}  // namespace

// Copies data and stuffed FFs until a marker or the end; returns the bytes read and written.
void unstuff_on_target(const std::uint8_t* source, std::size_t bytes, std::uint8_t* target, std::size_t& read,
                       std::size_t& written) {
  std::size_t from = 0;
  std::size_t to = 0;
  while (true) {
    const std::size_t copied = copy_to_ff(source + from, bytes - from, target + to);
    from += copied;
    to += copied;
    if (bytes - from < 2 || source[from + 1] != 0) break;
    target[to++] = 0xFF;
    from += 2;
  }
  read = from;
  written = to;
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {
namespace {
HWY_EXPORT(unstuff_on_target);
}

void EntropyBytes::assign(std::span<const std::uint8_t> scan, bool restarts, std::size_t first_restart) {
  ends_.clear();
  end_marker_ = -1;
  bytes_.reserve_discard(scan.size() + kSlack);
  std::size_t from = 0;
  std::size_t to = 0;
  while (true) {
    std::size_t read = 0;
    std::size_t written = 0;
    HWY_DYNAMIC_DISPATCH(unstuff_on_target)(scan.data() + from, scan.size() - from, bytes_.data() + to, read, written);
    from += read;
    to += written;
    ends_.push_back(to);
    if (scan.size() - from < 2) break;
    const int marker = scan[from + 1];
    end_marker_ = marker;
    const int expected = 0xD0 + static_cast<int>((first_restart + ends_.size() - 1) % 8);
    if (!restarts || marker != expected) break;
    end_marker_ = -1;
    from += 2;
  }
  std::memset(bytes_.data() + to, 0, kSlack);
}

}  // namespace unstarve
#endif
