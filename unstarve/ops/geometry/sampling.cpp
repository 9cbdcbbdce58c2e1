#include "unstarve/ops/geometry/sampling.h"

#include <algorithm>

#include "unstarve/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/ops/geometry/sampling.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

#include "unstarve/ops/geometry/sample_pixel.h"

#ifndef UNSTARVE_SAMPLING_DEFINITION
#define UNSTARVE_SAMPLING_DEFINITION
namespace unstarve::sampling {

struct ViewedImage {
  const Image& image;
  int width = image.size().width, height = image.size().height;

  [[nodiscard]] Rgb pixel(int column, int row) const {
    const std::uint8_t* const pixel = image.row(row) + std::ptrdiff_t{column} * kChannels;
    return {pixel[0], pixel[1], pixel[2]};
  }
};

}  // namespace unstarve::sampling
#endif

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2  // instruction sets with gather

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kLanes = HWY_TARGET <= HWY_AVX3 ? 16 : 8;
using D32 = hn::FixedTag<std::int32_t, kLanes>;
using DQ = hn::FixedTag<std::uint8_t, kLanes>;
using V32 = hn::VFromD<D32>;

// Three channels of one pixel in the low bytes of each lane. The last load reads the padding of an Image.
HWY_INLINE V32 gather(const Image& image, V32 row, V32 column) {
  const V32 offset = hn::Add(hn::Mul(row, hn::Set(D32(), static_cast<std::int32_t>(image.row_bytes()))),
                             hn::Mul(column, hn::Set(D32(), kChannels)));
  return hn::GatherOffset(D32(), reinterpret_cast<const std::int32_t*>(image.data()), offset);
}

template <int kChannel>
HWY_INLINE V32 channel_of(V32 pixels) {
  return hn::And(hn::ShiftRight<8 * kChannel>(pixels), hn::Set(D32(), 255));
}

struct Corners {
  V32 upper_left, upper_right, lower_left, lower_right, right, below;
};

template <int kChannel>
HWY_INLINE V32 mixed(const Corners& in) {
  const auto across = [&](V32 from, V32 to) HWY_ATTR {
    return hn::Add(hn::ShiftLeft<sampling::kWeightBits>(from), hn::Mul(in.right, hn::Sub(to, from)));
  };
  const V32 upper = across(channel_of<kChannel>(in.upper_left), channel_of<kChannel>(in.upper_right));
  const V32 lower = across(channel_of<kChannel>(in.lower_left), channel_of<kChannel>(in.lower_right));
  const V32 down = hn::Add(hn::ShiftLeft<sampling::kWeightBits>(upper), hn::Mul(in.below, hn::Sub(lower, upper)));
  return hn::ShiftRight<2 * sampling::kWeightBits>(hn::Add(down, hn::Set(D32(), sampling::kRound)));
}

template <Interpolation kInterpolation>
std::size_t sample_vectors(const Image& image, const Positions& at, std::size_t count, const Rgb& fill,
                           std::uint8_t* rgb) {
  const D32 d;
  const V32 zero = hn::Zero(d), one = hn::Set(d, 1), half = hn::Set(d, sampling::kHalf),
            weight = hn::Set(d, (1 << sampling::kWeightBits) - 1);
  const V32 last_column = hn::Set(d, image.size().width - 1), last_row = hn::Set(d, image.size().height - 1);
  const V32 background = hn::Set(d, fill[0] | fill[1] << 8 | fill[2] << 16);
  const std::size_t end = count - count % kLanes;
  for (std::size_t i = 0; i < end; i += kLanes) {
    const V32 position_x = hn::LoadU(d, at.x + i), position_y = hn::LoadU(d, at.y + i);
    const V32 column = hn::ShiftRight<kPositionBits>(hn::Add(position_x, half));
    const V32 row = hn::ShiftRight<kPositionBits>(hn::Add(position_y, half));
    const V32 inside_column = hn::Min(hn::Max(column, zero), last_column);
    const V32 inside_row = hn::Min(hn::Max(row, zero), last_row);
    const auto inside = hn::And(hn::Eq(column, inside_column), hn::Eq(row, inside_row));
    V32 r, g, b;
    if constexpr (kInterpolation == Interpolation::kNearest) {
      const V32 pixels = hn::IfThenElse(inside, gather(image, inside_row, inside_column), background);
      r = channel_of<0>(pixels);
      g = channel_of<1>(pixels);
      b = channel_of<2>(pixels);
    } else {
      const V32 left = hn::ShiftRight<kPositionBits>(position_x), top = hn::ShiftRight<kPositionBits>(position_y);
      const auto within = [&](V32 v, V32 last) HWY_ATTR { return hn::Min(hn::Max(v, zero), last); };
      const V32 x0 = within(left, last_column), x1 = within(hn::Add(left, one), last_column);
      const V32 y0 = within(top, last_row), y1 = within(hn::Add(top, one), last_row);
      Corners corners;
      corners.upper_left = gather(image, y0, x0);
      corners.upper_right = gather(image, y0, x1);
      corners.lower_left = gather(image, y1, x0);
      corners.lower_right = gather(image, y1, x1);
      corners.right = hn::And(hn::ShiftRight<kPositionBits - sampling::kWeightBits>(position_x), weight);
      corners.below = hn::And(hn::ShiftRight<kPositionBits - sampling::kWeightBits>(position_y), weight);
      r = hn::IfThenElse(inside, mixed<0>(corners), channel_of<0>(background));
      g = hn::IfThenElse(inside, mixed<1>(corners), channel_of<1>(background));
      b = hn::IfThenElse(inside, mixed<2>(corners), channel_of<2>(background));
    }
    hn::StoreInterleaved3(hn::DemoteTo(DQ(), r), hn::DemoteTo(DQ(), g), hn::DemoteTo(DQ(), b), DQ(),
                          rgb + kChannels * i);
  }
  return end;
}

std::size_t sample_vectors(const Image& image, const Positions& at, std::size_t count, const Warping& warping,
                           std::uint8_t* rgb) {
  if (image.bytes() >= INT32_MAX) return 0;
  return warping.interpolation == Interpolation::kNearest
             ? sample_vectors<Interpolation::kNearest>(image, at, count, warping.fill, rgb)
             : sample_vectors<Interpolation::kBilinear>(image, at, count, warping.fill, rgb);
}

#else

std::size_t sample_vectors(const Image&, const Positions&, std::size_t, const Warping&, std::uint8_t*) { return 0; }

#endif

}  // namespace

void sample_positions_on_target(const Image& image, const Positions& at, std::size_t count, const Warping& warping,
                                std::uint8_t* rgb) {
  for (std::size_t i = sample_vectors(image, at, count, warping, rgb); i < count; ++i) {
    const Rgb pixel = sampling::at(sampling::ViewedImage{image}, at.x[i], at.y[i], warping);
    std::copy(pixel.begin(), pixel.end(), rgb + kChannels * i);
  }
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {

HWY_EXPORT(sample_positions_on_target);

void sample_positions(const Image& image, const Positions& at, std::size_t count, const Warping& warping,
                      std::uint8_t* rgb) {
  HWY_DYNAMIC_DISPATCH(sample_positions_on_target)(image, at, count, warping, rgb);
}

Rgb sample_position(const Image& image, std::int32_t x, std::int32_t y, const Warping& warping) {
  return sampling::at(sampling::ViewedImage{image}, x, y, warping);
}

}  // namespace unstarve
#endif
