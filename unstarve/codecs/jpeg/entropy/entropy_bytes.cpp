#include "unstarve/codecs/jpeg/entropy/entropy_bytes.h"

#include <bit>
#include <cstring>

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/codecs/jpeg/entropy/entropy_bytes.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Copies bytes before the first FF and returns their number. May write up to one vector more.
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

// The progress of a copy.
struct Copied {
  std::size_t read = 0;
  std::size_t written = 0;
};

// Copies whole vectors without the zeros after FFs; stops before an FF that something else follows.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
Copied copy_vectors(const std::uint8_t* source, std::size_t bytes, std::uint8_t* target) {
  const __m512i ff = _mm512_set1_epi8(-1);
  Copied copied;
  std::uint64_t before = 0;  // 1: the last byte was FF
  for (; copied.read + 64 <= bytes; copied.read += 64) {
    const __m512i v = _mm512_loadu_si512(source + copied.read);
    const std::uint64_t ffs = _mm512_cmpeq_epi8_mask(v, ff);
    const std::uint64_t after_ff = ffs << 1 | before;
    if (_mm512_mask_test_epi8_mask(after_ff, v, v) != 0) break;
    _mm512_storeu_si512(target + copied.written, _mm512_maskz_compress_epi8(~after_ff, v));
    copied.written += 64 - static_cast<std::size_t>(std::popcount(after_ff));
    before = ffs >> 63;
  }
  // Excludes a last FF, whose next byte is not known yet.
  return {copied.read - before, copied.written - before};
}
#else
Copied copy_vectors(const std::uint8_t*, std::size_t, std::uint8_t*) { return {}; }
#endif

}  // namespace

// Copies data and stuffed FFs until a marker or the end; returns the bytes read and written.
void unstuff_on_target(const std::uint8_t* source, std::size_t bytes, std::uint8_t* target, std::size_t& read,
                       std::size_t& written) {
  auto [from, to] = copy_vectors(source, bytes, target);
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
