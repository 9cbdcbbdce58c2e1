#include "unstarve/codecs/jpeg/index/checksum.h"

#include <array>
#include <cstring>

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/codecs/jpeg/index/checksum.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// At most 256 bits: wider vectors pay only for long runs (wide_vectors_pay()), and memory is the limit.
using D = hn::CappedTag<std::uint64_t, ChecksumLanes::kCount>;
using V = hn::Vec<D>;

// At any alignment.
HWY_INLINE V load(const std::uint8_t* bytes) {
#if HWY_TARGET == HWY_SCALAR
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return hn::Set(D(), word);
#else
  return hn::BitCast(D(), hn::LoadU(hn::Repartition<std::uint8_t, D>(), bytes));
#endif
}

HWY_INLINE V product_of_halves(V words) {
  const V high = hn::ShiftRight<32>(words);
#if HWY_TARGET == HWY_SCALAR
  return hn::Mul(hn::And(words, hn::Set(D(), 0xFFFFFFFF)), high);
#else
  const hn::Repartition<std::uint32_t, D> halves;
  return hn::MulEven(hn::BitCast(halves, words), hn::BitCast(halves, high));
#endif
}

void add_stripes(const std::uint8_t* bytes, std::size_t stripes, ChecksumLanes& lanes) {
  const D d;
  constexpr std::size_t kPerVector = sizeof(V) / sizeof(std::uint64_t);
  constexpr std::size_t kVectors = ChecksumLanes::kCount / kPerVector;
  V sums[kVectors], products[kVectors], keys[kVectors];
  const V step = hn::Set(d, ChecksumLanes::kStep);
  for (std::size_t v = 0; v < kVectors; ++v) {
    sums[v] = hn::Load(d, lanes.sums.data() + v * kPerVector);
    products[v] = hn::Load(d, lanes.products.data() + v * kPerVector);
    keys[v] = hn::Load(d, lanes.keys.data() + v * kPerVector);
  }
  for (std::size_t i = 0; i < stripes; ++i, bytes += ChecksumLanes::kStripeBytes) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const V words = load(bytes + v * kPerVector * sizeof(std::uint64_t));
      sums[v] = hn::Add(sums[v], words);
      products[v] = hn::Add(products[v], product_of_halves(hn::Xor(words, keys[v])));
      keys[v] = hn::Add(keys[v], step);
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) {
    hn::Store(keys[v], d, lanes.keys.data() + v * kPerVector);
    hn::Store(sums[v], d, lanes.sums.data() + v * kPerVector);
    hn::Store(products[v], d, lanes.products.data() + v * kPerVector);
  }
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {
namespace {

HWY_EXPORT(add_stripes);

void add_stripes_reference(const std::uint8_t* bytes, std::size_t stripes, ChecksumLanes& lanes) {
  for (std::size_t i = 0; i < stripes; ++i) {
    for (std::size_t lane = 0; lane < ChecksumLanes::kCount; ++lane, bytes += sizeof(std::uint64_t)) {
      std::uint64_t word;
      std::memcpy(&word, bytes, sizeof(word));
      const std::uint64_t keyed = word ^ lanes.keys[lane];
      lanes.sums[lane] += word;
      lanes.products[lane] += (keyed & 0xFFFFFFFF) * (keyed >> 32);
      lanes.keys[lane] += ChecksumLanes::kStep;
    }
  }
}

template <class AddStripes>
std::uint64_t checksum_by(const AddStripes& add, std::span<const std::uint8_t> bytes) {
  ChecksumLanes lanes;
  const std::size_t stripes = bytes.size() / ChecksumLanes::kStripeBytes;
  add(bytes.data(), stripes, lanes);
  if (const auto rest = bytes.subspan(stripes * ChecksumLanes::kStripeBytes); !rest.empty()) {
    std::array<std::uint8_t, ChecksumLanes::kStripeBytes> last{};
    std::memcpy(last.data(), rest.data(), rest.size());
    add(last.data(), std::size_t{1}, lanes);
  }
  MixedWords mixed;
  for (const std::uint64_t sum : lanes.sums) mixed.add(sum);
  for (const std::uint64_t sum : lanes.products) mixed.add(sum);
  mixed.add(bytes.size());
  return mixed.value;
}

}  // namespace

std::uint64_t checksum_of(std::span<const std::uint8_t> bytes) {
  const auto add = [](const std::uint8_t* first, std::size_t stripes, ChecksumLanes& lanes) {
    HWY_DYNAMIC_DISPATCH(add_stripes)(first, stripes, lanes);
  };
  return checksum_by(add, bytes);
}

std::uint64_t checksum_reference(std::span<const std::uint8_t> bytes) {
  return checksum_by(add_stripes_reference, bytes);
}

}  // namespace unstarve
#endif
