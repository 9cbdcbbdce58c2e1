#include "unstarve/codecs/jpeg/encode/bit_packer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "unstarve/codecs/jpeg/encode/scan_codes.h"
#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/codecs/jpeg/encode/bit_packer.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set: newer ones also shift faster
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kLengthBits = ScanCodes::kLengthBits;
constexpr std::uint64_t kLengthMask = (1u << kLengthBits) - 1;
// The maximum length of a joined word, because up to seven bits may be pending.
constexpr std::uint64_t kMostBits = 57;

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

std::size_t join(const std::uint32_t* entries, std::size_t count, std::uint64_t* words) {
  for (std::size_t i = 0; i < count; i += 2) {
    const std::uint64_t first = entries[i], second = entries[i + 1];
    const std::uint64_t second_length = second & kLengthMask;
    const std::uint64_t code = first >> kLengthBits << second_length | second >> kLengthBits;
    words[i / 2] = code << kLengthBits | ((first & kLengthMask) + second_length);
  }
  return count / 2;
}

#else

using D64 = hn::CappedTag<std::uint64_t, BitPacker::kGroup / 4>;
using D32 = hn::Repartition<std::uint32_t, D64>;
using V64 = hn::VFromD<D64>;

HWY_INLINE V64 length_of(V64 words) { return hn::And(words, hn::Set(D64(), kLengthMask)); }
HWY_INLINE V64 bits_of(V64 words) { return hn::ShiftRight<kLengthBits>(words); }

// Appends the words of `second` to those of `first`; `length` is the total length.
HWY_INLINE V64 joined(V64 first, V64 second, V64 length) {
  const V64 bits = hn::Or(hn::Shl(bits_of(first), length_of(second)), bits_of(second));
  return hn::Or(hn::ShiftLeft<kLengthBits>(bits), length);
}

// One word for every two entries.
HWY_INLINE V64 pairs(const std::uint32_t* entries) {
  const V64 both = hn::BitCast(D64(), hn::Load(D32(), entries));
  const V64 first = hn::And(both, hn::Set(D64(), 0xFFFFFFFFu));
  const V64 second = hn::ShiftRight<32>(both);
  return joined(first, second, hn::Add(length_of(first), length_of(second)));
}

std::size_t join(const std::uint32_t* entries, std::size_t count, std::uint64_t* words) {
  const D64 d;
  const std::size_t lanes = hn::Lanes(d);
  std::uint64_t* word = words;
  for (std::size_t i = 0; i < count; i += 4 * lanes) {
    const V64 lower = pairs(entries + i);
    const V64 upper = pairs(entries + i + 2 * lanes);
    const V64 first = hn::ConcatEven(d, upper, lower);
    const V64 second = hn::ConcatOdd(d, upper, lower);
    const V64 length = hn::Add(length_of(first), length_of(second));
    // Lengths are below 128, so that bit 6 marks those that are too long.
    const V64 excess = hn::And(hn::Add(length, hn::Set(d, 63 - kMostBits)), hn::Set(d, 64));
    if (HWY_LIKELY(hn::AllTrue(d, hn::Eq(excess, hn::Zero(d))))) {
      hn::StoreU(joined(first, second, length), d, word);
      word += lanes;
    } else {
      hn::StoreU(lower, d, word);
      hn::StoreU(upper, d, word + lanes);
      word += 2 * lanes;
    }
  }
  return static_cast<std::size_t>(word - words);
}

#endif

}  // namespace

// Returns the bytes written.
std::size_t append_on_target(const std::uint32_t* entries, std::size_t count, std::uint64_t* words, std::uint8_t* out,
                             std::uint64_t& bits_before, std::uint64_t& pending_before) {
  const std::size_t joined_words = join(entries, count, words);
  std::uint8_t* const start = out;
  std::uint64_t bits = bits_before;
  std::uint64_t pending = pending_before;
  for (std::size_t i = 0; i < joined_words; ++i) {
    const std::uint64_t word = words[i];
    const std::uint64_t length = word & kLengthMask;
    bits = bits << length | word >> kLengthBits;
    pending += length;
    std::uint64_t bytes = bits << ((64 - pending) & 63);
    if constexpr (std::endian::native == std::endian::little) bytes = __builtin_bswap64(bytes);
    std::memcpy(out, &bytes, 8);
    out += pending / 8;
    pending %= 8;
  }
  bits_before = bits;
  pending_before = pending;
  return static_cast<std::size_t>(out - start);
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {
namespace {
HWY_EXPORT(append_on_target);
}

std::size_t BitPacker::append(std::uint32_t* entries, std::size_t count, std::uint64_t* words, std::uint8_t* out) {
  const std::size_t padded = (count + kGroup - 1) / kGroup * kGroup;
  std::fill(entries + count, entries + padded, 0u);  // no bits
  return HWY_DYNAMIC_DISPATCH(append_on_target)(entries, padded, words, out, bits_, pending_);
}

std::size_t BitPacker::finish(std::uint8_t* out) {
  if (pending_ == 0) return 0;
  const std::uint64_t missing = 8 - pending_;
  *out = static_cast<std::uint8_t>(bits_ << missing | ((1u << missing) - 1));
  pending_ = 0;
  return 1;
}

}  // namespace unstarve
#endif
