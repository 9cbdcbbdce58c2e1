#include "unstarve/models/kernels/winograd_tiles.h"

#include <algorithm>
#include <type_traits>

#include "unstarve/core/simd_targets.h"
#undef HWY_WANT_AVX3_DL  // adds integer instructions only

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "unstarve/models/kernels/winograd_tiles.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
#include <hwy/highway.h>

#include "unstarve/models/kernels/channel_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unstarve::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The interpolation points, as squares: a = sqrt(1/2), b = sqrt(2).
constexpr float kA = 0.70710678118654752F, kB = 1.41421356237309505F;
constexpr float kA2 = 0.5F, kB2 = 2.0F;
constexpr float kProduct = kA2 * kB2, kSum = kA2 + kB2;
// The divisors of a kernel's values at 0, +-a and +-b.
constexpr float kAt0 = kA2 * kB2, kAtA = 2 * kA2 * (kA2 - kB2), kAtB = 2 * kB2 * (kB2 - kA2);

constexpr std::size_t kIn = 6;    // pixels of the input per side of a tile
constexpr std::size_t kSide = 3;  // of a kernel

// The transforms in one dimension. Values at p and -p differ in the sign of their odd part.
template <class D>
struct InputTransform {  // B'
  static constexpr std::size_t kFrom = kIn, kTo = kIn;
  static HWY_INLINE void apply(D d, const V<D>* x, V<D>* v) {
    const auto a2 = hn::Set(d, kA2), b2 = hn::Set(d, kB2), sum = hn::Set(d, kSum), product = hn::Set(d, kProduct);
    v[0] = hn::MulAdd(product, x[0], hn::NegMulAdd(sum, x[2], x[4]));
    const auto even_a = hn::NegMulAdd(b2, x[2], x[4]), even_b = hn::NegMulAdd(a2, x[2], x[4]);
    const auto odd_a = hn::Mul(hn::Set(d, kA), hn::NegMulAdd(b2, x[1], x[3]));
    const auto odd_b = hn::Mul(hn::Set(d, kB), hn::NegMulAdd(a2, x[1], x[3]));
    v[1] = hn::Add(even_a, odd_a);
    v[2] = hn::Sub(even_a, odd_a);
    v[3] = hn::Add(even_b, odd_b);
    v[4] = hn::Sub(even_b, odd_b);
    v[5] = hn::MulAdd(product, x[1], hn::NegMulAdd(sum, x[3], x[5]));
  }
};

template <class D>
struct InputGradient {  // B
  static constexpr std::size_t kFrom = kIn, kTo = kIn;
  static HWY_INLINE void apply(D d, const V<D>* v, V<D>* x) {
    const auto a2 = hn::Set(d, kA2), b2 = hn::Set(d, kB2), sum = hn::Set(d, kSum), product = hn::Set(d, kProduct);
    const auto even_a = hn::Add(v[1], v[2]), even_b = hn::Add(v[3], v[4]);
    const auto odd_a = hn::Mul(hn::Set(d, kA), hn::Sub(v[1], v[2]));
    const auto odd_b = hn::Mul(hn::Set(d, kB), hn::Sub(v[3], v[4]));
    x[0] = hn::Mul(product, v[0]);
    x[1] = hn::NegMulAdd(b2, odd_a, hn::NegMulAdd(a2, odd_b, hn::Mul(product, v[5])));
    x[2] = hn::NegMulAdd(sum, v[0], hn::NegMulAdd(b2, even_a, hn::Neg(hn::Mul(a2, even_b))));
    x[3] = hn::NegMulAdd(sum, v[5], hn::Add(odd_a, odd_b));
    x[4] = hn::Add(v[0], hn::Add(even_a, even_b));
    x[5] = v[5];
  }
};

template <class D>
struct OutputTransform {  // A'
  static constexpr std::size_t kFrom = kIn, kTo = kTileSide;
  static HWY_INLINE void apply(D d, const V<D>* m, V<D>* y) {
    const auto a2 = hn::Set(d, kA2), b2 = hn::Set(d, kB2);
    const auto even_a = hn::Add(m[1], m[2]), even_b = hn::Add(m[3], m[4]);
    const auto odd_a = hn::Mul(hn::Set(d, kA), hn::Sub(m[1], m[2]));
    const auto odd_b = hn::Mul(hn::Set(d, kB), hn::Sub(m[3], m[4]));
    y[0] = hn::Add(m[0], hn::Add(even_a, even_b));
    y[1] = hn::Add(odd_a, odd_b);
    y[2] = hn::MulAdd(a2, even_a, hn::Mul(b2, even_b));
    y[3] = hn::MulAdd(a2, odd_a, hn::MulAdd(b2, odd_b, m[5]));
  }
};

template <class D>
struct OutputGradient {  // A
  static constexpr std::size_t kFrom = kTileSide, kTo = kIn;
  static HWY_INLINE void apply(D d, const V<D>* y, V<D>* m) {
    const auto a2 = hn::Set(d, kA2), b2 = hn::Set(d, kB2);
    const auto even_a = hn::MulAdd(a2, y[2], y[0]), even_b = hn::MulAdd(b2, y[2], y[0]);
    const auto odd_a = hn::Mul(hn::Set(d, kA), hn::MulAdd(a2, y[3], y[1]));
    const auto odd_b = hn::Mul(hn::Set(d, kB), hn::MulAdd(b2, y[3], y[1]));
    m[0] = y[0];
    m[1] = hn::Add(even_a, odd_a);
    m[2] = hn::Sub(even_a, odd_a);
    m[3] = hn::Add(even_b, odd_b);
    m[4] = hn::Sub(even_b, odd_b);
    m[5] = y[3];
  }
};

template <class D>
struct KernelTransform {  // G
  static constexpr std::size_t kFrom = kSide, kTo = kIn;
  static HWY_INLINE void apply(D d, const V<D>* w, V<D>* k) {
    const auto even_a = hn::Mul(hn::Set(d, 1 / kAtA), hn::MulAdd(hn::Set(d, kA2), w[2], w[0]));
    const auto even_b = hn::Mul(hn::Set(d, 1 / kAtB), hn::MulAdd(hn::Set(d, kB2), w[2], w[0]));
    const auto odd_a = hn::Mul(hn::Set(d, kA / kAtA), w[1]), odd_b = hn::Mul(hn::Set(d, kB / kAtB), w[1]);
    k[0] = hn::Mul(hn::Set(d, 1 / kAt0), w[0]);
    k[1] = hn::Add(even_a, odd_a);
    k[2] = hn::Sub(even_a, odd_a);
    k[3] = hn::Add(even_b, odd_b);
    k[4] = hn::Sub(even_b, odd_b);
    k[5] = w[2];
  }
};

template <class D>
struct KernelGradient {  // G'
  static constexpr std::size_t kFrom = kIn, kTo = kSide;
  static HWY_INLINE void apply(D d, const V<D>* k, V<D>* w) {
    const auto even_a = hn::Mul(hn::Set(d, 1 / kAtA), hn::Add(k[1], k[2]));
    const auto even_b = hn::Mul(hn::Set(d, 1 / kAtB), hn::Add(k[3], k[4]));
    w[0] = hn::MulAdd(hn::Set(d, 1 / kAt0), k[0], hn::Add(even_a, even_b));
    w[1] = hn::MulAdd(hn::Set(d, kA / kAtA), hn::Sub(k[1], k[2]), hn::Mul(hn::Set(d, kB / kAtB), hn::Sub(k[3], k[4])));
    w[2] = hn::MulAdd(hn::Set(d, kA2), even_a, hn::MulAdd(hn::Set(d, kB2), even_b, k[5]));
  }
};

// Columns, then rows, for adjacent vectors: read(i, j, offset of the vector) and write(i, j, offset, value). Tiles are
// written by whole cache lines, because lines of different planes may replace each other before they are complete.
template <template <class> class Transform, std::size_t kVectors, class D, class Read, class Write>
HWY_INLINE void transform_tile(D d, const Read& read, const Write& write) {
  using T = Transform<D>;
  V<D> between[kVectors][T::kTo][T::kFrom];
  for (std::size_t v = 0; v < kVectors; ++v) {
    for (std::size_t j = 0; j < T::kFrom; ++j) {
      V<D> from[T::kFrom], to[T::kTo];
      for (std::size_t i = 0; i < T::kFrom; ++i) from[i] = read(i, j, v * hn::Lanes(d));
      T::apply(d, from, to);
      for (std::size_t i = 0; i < T::kTo; ++i) between[v][i][j] = to[i];
    }
  }
  for (std::size_t i = 0; i < T::kTo; ++i) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      V<D> to[T::kTo];
      T::apply(d, between[v][i], to);
      for (std::size_t j = 0; j < T::kTo; ++j) write(i, j, v * hn::Lanes(d), to[j]);
    }
  }
}

// The part of a tile's pixels that is within the image: rows and columns from `first` to before `last`.
struct Range {
  std::size_t first = 0;
  std::size_t last = 0;

  [[nodiscard]] bool contains(std::size_t i) const { return i >= first && i < last; }
};
Range inside(std::size_t tile, std::size_t border, std::size_t side, std::size_t size) {
  const std::size_t begin = tile * kTileSide;  // of the pixels, shifted by the border
  return {begin < border ? border - begin : 0, std::min(side, size + border - begin)};
}

struct Window {
  Range rows, columns;
  std::ptrdiff_t offset = 0;  // of the first pixel, which may be beyond the image
  std::ptrdiff_t row = 0;     // values of a row of the image
  std::ptrdiff_t channels = 0;

  [[nodiscard]] std::ptrdiff_t at(std::size_t i, std::size_t j) const {
    return offset + static_cast<std::ptrdiff_t>(i) * row + static_cast<std::ptrdiff_t>(j) * channels;
  }
};

// Calls body(window, whether it is entirely within the image, offset of the tile's row in a plane).
template <class Body>
HWY_INLINE void for_tiles(const TileGrid& grid, std::size_t border, std::size_t side, const Body& body) {
  Window window{
      {}, {}, 0, static_cast<std::ptrdiff_t>(grid.width * grid.channels), static_cast<std::ptrdiff_t>(grid.channels)};
  std::size_t offset = 0;
  for (std::size_t row = 0; row < grid.rows(); ++row) {
    window.rows = inside(row, border, side, grid.height);
    for (std::size_t column = 0; column < grid.columns(); ++column, offset += grid.channels) {
      window.columns = inside(column, border, side, grid.width);
      const auto from_border = [border](std::size_t tile) {
        return static_cast<std::ptrdiff_t>(tile * kTileSide) - static_cast<std::ptrdiff_t>(border);
      };
      window.offset = from_border(row) * window.row + from_border(column) * window.channels;
      const bool whole = window.rows.first == 0 && window.rows.last == side && window.columns.first == 0 &&
                         window.columns.last == side;
      if (whole) {
        body(window, std::true_type(), offset);
      } else {
        body(window, std::false_type(), offset);
      }
    }
  }
}

template <template <class> class Transform, class T>
HWY_INLINE void image_to_tiles(const TileGrid& grid, ChannelRange channels, std::size_t border, const T* image,
                               float* tiles) {
  for_tiles(grid, border, Transform<DF>::kFrom, [&](const Window window, auto whole, std::size_t offset) HWY_ATTR {
    for_channel_lines(channels.begin, channels.end, [&](auto d, auto vectors, std::size_t c) HWY_ATTR {
      float* const to = tiles + offset + c;
      transform_tile<Transform, vectors()>(
          d,
          [&](std::size_t i, std::size_t j, std::size_t vector) HWY_ATTR {
            if (!whole() && !(window.rows.contains(i) && window.columns.contains(j))) return hn::Zero(d);
            return load(d, image + window.at(i, j) + c + vector);
          },
          [&](std::size_t i, std::size_t j, std::size_t vector, auto value)
              HWY_ATTR { hn::StoreU(value, d, to + (i * kIn + j) * grid.plane + vector); });
    });
  });
}

template <template <class> class Transform, class Write>
HWY_INLINE void tiles_to_image(const TileGrid& grid, ChannelRange channels, std::size_t border, const float* tiles,
                               const Write& write) {
  for_tiles(grid, border, Transform<DF>::kTo, [&](const Window window, auto whole, std::size_t offset) HWY_ATTR {
    for_channel_lines(channels.begin, channels.end, [&](auto d, auto vectors, std::size_t c) HWY_ATTR {
      const float* const from = tiles + offset + c;
      transform_tile<Transform, vectors()>(
          d,
          [&](std::size_t i, std::size_t j, std::size_t vector)
              HWY_ATTR { return hn::LoadU(d, from + (i * kIn + j) * grid.plane + vector); },
          [&](std::size_t i, std::size_t j, std::size_t vector, auto value) HWY_ATTR {
            if (!whole() && !(window.rows.contains(i) && window.columns.contains(j))) return;
            write(d, value, window.at(i, j) + static_cast<std::ptrdiff_t>(c + vector));
          });
    });
  });
}

// Calls body(pixels) with a pointer to the type of the image's values.
template <class Void, class Body>
HWY_INLINE void with_type(const TileGrid& grid, Void* image, const Body& body) {
  using Float = std::conditional_t<std::is_const_v<Void>, const float, float>;
  using Bfloat16 = std::conditional_t<std::is_const_v<Void>, const Bfloat16Bits, Bfloat16Bits>;
  grid.bfloat16 ? body(static_cast<Bfloat16*>(image)) : body(static_cast<Float*>(image));
}

}  // namespace

void input_to_tiles_on_target(const TileGrid& grid, ChannelRange channels, const void* image, float* tiles) {
  with_type(grid, image, [&](const auto* pixels) HWY_ATTR {
    image_to_tiles<InputTransform>(grid, channels, /*border=*/1, pixels, tiles);
  });
}

void tiles_to_output_on_target(const TileGrid& grid, ChannelRange channels, const float* tiles, void* image) {
  with_type(grid, image, [&](auto* pixels) HWY_ATTR {
    tiles_to_image<OutputTransform>(grid, channels, /*border=*/0, tiles,
                                    [pixels](auto d, auto value, std::ptrdiff_t offset)
                                        HWY_ATTR { store(value, d, pixels + offset); });
  });
}

void output_gradient_to_tiles_on_target(const TileGrid& grid, ChannelRange channels, const void* image, float* tiles) {
  with_type(grid, image, [&](const auto* pixels) HWY_ATTR {
    image_to_tiles<OutputGradient>(grid, channels, /*border=*/0, pixels, tiles);
  });
}

void kernels_to_planes_on_target(const KernelGrid& grid, ChannelRange outputs, const float* kernels, float* planes) {
  for (std::size_t out = outputs.begin; out < outputs.end; ++out) {
    const float* const from = kernels + out * kSide * kSide * grid.in;
    for_channels(DF(), 0, grid.in, [&](auto d, std::size_t c) HWY_ATTR {
      transform_tile<KernelTransform, 1>(
          d,
          [&](std::size_t i, std::size_t j, std::size_t)
              HWY_ATTR { return hn::LoadU(d, from + (i * kSide + j) * grid.in + c); },
          [&](std::size_t i, std::size_t j, std::size_t, auto value)
              HWY_ATTR { hn::StoreU(value, d, planes + (i * kIn + j) * grid.plane + out * grid.in + c); });
    });
  }
}

void kernels_to_transposed_planes_on_target(const KernelGrid& grid, ChannelRange outputs, const float* kernels,
                                            float* planes) {
  constexpr std::size_t kInputs = 16;  // adjacent inputs of one output share a cache line
  for_channels(DF(), outputs.begin, outputs.end, [&](auto d, std::size_t out) HWY_ATTR {
    const std::size_t lanes = hn::Lanes(d);
    for (std::size_t first = 0; first < grid.in; first += kInputs) {
      const std::size_t inputs = std::min(kInputs, grid.in - first);
      HWY_ALIGN float transposed[kInputs][kSide * kSide][hn::MaxLanes(DF())];
      for (std::size_t o = 0; o < lanes; ++o) {
        for (std::size_t k = 0; k < kSide * kSide; ++k) {
          const float* const from = kernels + ((out + o) * kSide * kSide + k) * grid.in + first;
          for (std::size_t i = 0; i < inputs; ++i) transposed[i][k][o] = from[i];
        }
      }
      for (std::size_t in = 0; in < inputs; ++in) {
        transform_tile<KernelTransform, 1>(
            d,
            [&](std::size_t i, std::size_t j, std::size_t)
                HWY_ATTR { return hn::LoadU(d, transposed[in][i * kSide + j]); },
            [&](std::size_t i, std::size_t j, std::size_t, auto value) HWY_ATTR {
              hn::StoreU(value, d, planes + (i * kIn + j) * grid.plane + (first + in) * grid.out + out);
            });
      }
    }
  });
}

void planes_to_kernel_gradient_on_target(const KernelGrid& grid, ChannelRange outputs, const float* planes,
                                         float* kernels) {
  for (std::size_t out = outputs.begin; out < outputs.end; ++out) {
    float* const to = kernels + out * kSide * kSide * grid.in;
    for_channels(DF(), 0, grid.in, [&](auto d, std::size_t c) HWY_ATTR {
      transform_tile<KernelGradient, 1>(
          d,
          [&](std::size_t i, std::size_t j, std::size_t)
              HWY_ATTR { return hn::LoadU(d, planes + (i * kIn + j) * grid.plane + out * grid.in + c); },
          [&](std::size_t i, std::size_t j, std::size_t, auto value)
              HWY_ATTR { hn::StoreU(value, d, to + (i * kSide + j) * grid.in + c); });
    });
  }
}

void tiles_to_input_gradient_on_target(const TileGrid& grid, ChannelRange channels, const float* tiles, float* image) {
  for (std::size_t pixel = 0; pixel < grid.height * grid.width; ++pixel) {
    float* const first = image + pixel * grid.channels;
    std::fill(first + channels.begin, first + channels.end, 0.0F);
  }
  tiles_to_image<InputGradient>(grid, channels, /*border=*/1, tiles,
                                [image](auto d, auto value, std::ptrdiff_t offset) HWY_ATTR {
                                  hn::StoreU(hn::Add(hn::LoadU(d, image + offset), value), d, image + offset);
                                });
}

}  // namespace unstarve::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unstarve {

HWY_EXPORT(input_to_tiles_on_target);
HWY_EXPORT(tiles_to_output_on_target);
HWY_EXPORT(output_gradient_to_tiles_on_target);
HWY_EXPORT(tiles_to_input_gradient_on_target);
HWY_EXPORT(kernels_to_planes_on_target);
HWY_EXPORT(kernels_to_transposed_planes_on_target);
HWY_EXPORT(planes_to_kernel_gradient_on_target);

void input_to_tiles(const TileGrid& grid, ChannelRange channels, const void* image, float* tiles) {
  HWY_DYNAMIC_DISPATCH(input_to_tiles_on_target)(grid, channels, image, tiles);
}
void tiles_to_output(const TileGrid& grid, ChannelRange channels, const float* tiles, void* image) {
  HWY_DYNAMIC_DISPATCH(tiles_to_output_on_target)(grid, channels, tiles, image);
}
void output_gradient_to_tiles(const TileGrid& grid, ChannelRange channels, const void* image, float* tiles) {
  HWY_DYNAMIC_DISPATCH(output_gradient_to_tiles_on_target)(grid, channels, image, tiles);
}
void tiles_to_input_gradient(const TileGrid& grid, ChannelRange channels, const float* tiles, float* image) {
  HWY_DYNAMIC_DISPATCH(tiles_to_input_gradient_on_target)(grid, channels, tiles, image);
}

void kernels_to_planes(const KernelGrid& grid, ChannelRange outputs, const float* kernels, float* planes) {
  HWY_DYNAMIC_DISPATCH(kernels_to_planes_on_target)(grid, outputs, kernels, planes);
}
void kernels_to_transposed_planes(const KernelGrid& grid, ChannelRange outputs, const float* kernels, float* planes) {
  HWY_DYNAMIC_DISPATCH(kernels_to_transposed_planes_on_target)(grid, outputs, kernels, planes);
}
void planes_to_kernel_gradient(const KernelGrid& grid, ChannelRange outputs, const float* planes, float* kernels) {
  HWY_DYNAMIC_DISPATCH(planes_to_kernel_gradient_on_target)(grid, outputs, planes, kernels);
}

}  // namespace unstarve
#endif
