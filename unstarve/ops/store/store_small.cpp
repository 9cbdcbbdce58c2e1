#include "unstarve/ops/store/store_small.h"

#include <algorithm>

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/ops/store/store_small.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

#include "unstarve/ops/store/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

constexpr int kLanes16 = 16;
alignas(16) constexpr std::uint8_t kReverse[16] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};

// A row has kPieces pieces of 16 pixels.
template <int kPieces, bool kMirrored, class T>
void store_planes(const Frame& frame, const ValueMap& map, T* to, CacheFetch& fetch) {
  constexpr int kWidth = kPieces * kLanes16;
  const PixelView& pixels = frame.pixels;
  const int top = std::clamp(-frame.top, 0, frame.height);
  const int bottom = std::clamp(pixels.height - frame.top, top, frame.height);
  std::ptrdiff_t column[kPieces];
  hn::Mask<D8> inside[kPieces];
  for (int i = 0; i < kPieces; ++i) {
    const int first = frame.left + kLanes16 * (kMirrored ? kPieces - 1 - i : i);
    column[i] = first;
    const auto before = static_cast<std::size_t>(std::clamp(-first, 0, kLanes16));
    const auto until = static_cast<std::size_t>(std::clamp(pixels.width - first, 0, kLanes16));
    inside[i] = hn::AndNot(hn::FirstN(D8(), before), hn::FirstN(D8(), until));
  }
  [[maybe_unused]] const auto reverse = hn::Load(D8(), kReverse);
  for (std::size_t c = 0; c < kChannels; ++c) {
    const VF scale = hn::Set(DF(), map.scale[c]), bias = hn::Set(DF(), map.bias[c]);
    const auto fill = hn::Set(D8(), frame.fill[c]);
    const VF filled = normalise(fill, scale, bias);
    const auto fill_rows = [&](int rows) HWY_ATTR {
      for (int i = 0; i < rows * kPieces; i += 2, to += 2 * kLanes16) write_two<false>(filled, filled, to);
    };
    fill_rows(top);
    const std::uint8_t* from = pixels.data + static_cast<std::ptrdiff_t>(c) * pixels.channel_stride +
                               std::ptrdiff_t{frame.top + top} * pixels.row_stride;
    for (int y = top; y < bottom; ++y, from += pixels.row_stride, to += kWidth) {
      // Every second row suffices for a sample of this size and leaves bandwidth to the stores.
      if (y % 2 == 0) fetch.step();
      for (int i = 0; i < kPieces; i += 2) {
        auto a = hn::IfThenElse(inside[i], hn::MaskedLoad(inside[i], D8(), from + column[i]), fill);
        auto b = hn::IfThenElse(inside[i + 1], hn::MaskedLoad(inside[i + 1], D8(), from + column[i + 1]), fill);
        if constexpr (kMirrored) {
          a = hn::TableLookupBytes(a, reverse);
          b = hn::TableLookupBytes(b, reverse);
        }
        write_two<false>(normalise(a, scale, bias), normalise(b, scale, bias), to + i * kLanes16);
      }
    }
    fill_rows(frame.height - bottom);
  }
  fetch.finish();
}

template <class T>
bool store_small_as(const Frame& frame, const ValueMap& map, T* dst, CacheFetch& fetch) {
  if (frame.points != nullptr || !frame.pixels.planar() || reinterpret_cast<std::uintptr_t>(dst) % kLine != 0)
    return false;
  if (frame.width == 32) {
    frame.mirrored ? store_planes<2, true>(frame, map, dst, fetch) : store_planes<2, false>(frame, map, dst, fetch);
  } else if (frame.width == 64) {
    frame.mirrored ? store_planes<4, true>(frame, map, dst, fetch) : store_planes<4, false>(frame, map, dst, fetch);
  } else {
    return false;
  }
  return true;
}

#else

template <class T>
bool store_small_as(const Frame&, const ValueMap&, T*, CacheFetch&) {
  return false;
}

#endif

}  // namespace

bool store_small_on_target(const Frame& frame, const ValueMap& map, ElementType type, void* dst, CacheFetch& fetch) {
  switch (type) {
    case ElementType::kUint8: return false;
    case ElementType::kFloat32: return store_small_as(frame, map, static_cast<float*>(dst), fetch);
    case ElementType::kBfloat16: return store_small_as(frame, map, static_cast<Bfloat16*>(dst), fetch);
    default: return store_small_as(frame, map, static_cast<Float16*>(dst), fetch);
  }
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {

HWY_EXPORT(store_small_on_target);

bool store_small(const Frame& frame, const ValueMap& map, ElementType type, void* dst, CacheFetch& fetch) {
  return HWY_DYNAMIC_DISPATCH(store_small_on_target)(frame, map, type, dst, fetch);
}

}  // namespace unstarve
#endif
