#pragma once
// One pixel of a layer: the arithmetic of all operations, bit-equal to the host's. For the host and for GPUs.

#include <cstddef>
#include <cstdint>

#include "unstarve/ops/base/host_device.h"
#include "unstarve/ops/base/noise_pixel.h"
#include "unstarve/ops/base/point_pixel.h"
#include "unstarve/ops/filter/filter_pixel.h"
#include "unstarve/ops/geometry/positions.h"
#include "unstarve/ops/geometry/sample_pixel.h"
#include "unstarve/ops/gpu/program.h"

namespace unstarve::gpu {

using point::Pixel;

// The work of one team.
struct Task {
  BatchProgram program;
  const std::uint8_t* source = nullptr;  // of the sample
  std::uint8_t* scratch = nullptr;       // of the team, program.scratch.bytes(); null if no command needs it

  [[nodiscard]] UNSTARVE_HD std::uint8_t* slot(int which) const { return scratch + which * program.scratch.slot_bytes; }
  [[nodiscard]] UNSTARVE_HD std::uint16_t* wide() const {
    return reinterpret_cast<std::uint16_t*>(scratch + 2 * program.scratch.slot_bytes);
  }
  [[nodiscard]] UNSTARVE_HD Table* tables() const {
    return reinterpret_cast<Table*>(scratch + 2 * program.scratch.slot_bytes + program.scratch.wide_bytes);
  }
  [[nodiscard]] UNSTARVE_HD std::uint8_t* saved() const { return scratch + program.scratch.saved(); }
  [[nodiscard]] UNSTARVE_HD std::uint32_t* sums() const {
    return reinterpret_cast<std::uint32_t*>(saved() + program.scratch.saved_bytes);
  }
};

// Maps a pixel of a view to the one below. False if there is none.
UNSTARVE_HD inline bool map_to_input(const View& view, std::int32_t& x, std::int32_t& y) {
  x = view.x + view.step_x * x;
  y = view.y + view.step_y * y;
  if (view.border != Border::kConstant) {
    x = view.left + border_index(view.border, x - view.left, view.right - view.left);
    y = view.top + border_index(view.border, y - view.top, view.bottom - view.top);
  }
  return x >= view.left && x < view.right && y >= view.top && y < view.bottom;
}

UNSTARVE_HD inline Pixel read_memory(const Task& task, const Input& input, std::int32_t x, std::int32_t y) {
  const std::uint8_t* const first = input.from == From::kSource  ? task.source
                                    : input.from == From::kSaved ? task.saved()
                                                                 : task.slot(input.slot);
  const std::uint8_t* const at = first + y * input.row_stride + x * input.pixel_stride;
  return {at[0], at[input.channel_stride], at[2 * input.channel_stride]};
}

// The pixels in memory that a layer sees through its view.
struct ViewedInput {
  const Task& task;
  const Layer& layer;
  int width, height;

  [[nodiscard]] UNSTARVE_HD Pixel pixel(int x, int y) const {
    return map_to_input(layer.view, x, y) ? read_memory(task, layer.input, x, y) : layer.view.fill;
  }
};

// Horizontal pass, then vertical pass, each rounded to 8 bits as on the host.
UNSTARVE_HD inline Pixel resized(const Task& task, const Layer& layer, int x, int y) {
  const ViewedInput image{task, layer, layer.view_size.width, layer.view_size.height};
  const Axis &across = layer.across, &down = layer.down;
  const std::int16_t* const across_weights =
      task.program.weights + across.first_weight + std::ptrdiff_t{x} * across.taps;
  const std::int16_t* const down_weights = task.program.weights + down.first_weight + std::ptrdiff_t{y} * down.taps;
  const int column = task.program.starts[across.first_start + x], row = task.program.starts[down.first_start + y];
  std::int32_t sums[kChannels];
  for (std::int32_t& sum : sums) sum = 1 << (down.fraction_bits - 1);
  for (int j = 0; j < down.taps; ++j) {
    const std::int32_t down_weight = down_weights[j];
    if (down_weight == 0) continue;
    std::int32_t row_sums[kChannels];
    for (std::int32_t& sum : row_sums) sum = 1 << (across.fraction_bits - 1);
    for (int i = 0; i < across.taps; ++i) {
      const std::int32_t weight = across_weights[i];
      if (weight == 0) continue;
      const Pixel pixel = image.pixel(column + i, row + j);
      for (std::size_t c = 0; c < kChannels; ++c) row_sums[c] += weight * pixel[c];
    }
    for (std::size_t c = 0; c < kChannels; ++c) {
      sums[c] += down_weight * point::clipped(row_sums[c] >> across.fraction_bits);
    }
  }
  Pixel pixel{};
  for (std::size_t c = 0; c < kChannels; ++c) pixel[c] = point::clipped(sums[c] >> down.fraction_bits);
  return pixel;
}

UNSTARVE_HD inline Pixel warped(const Task& task, const Layer& layer, int x, int y) {
  const Position position = position_of(layer.mapping, x, y, layer.size.width);
  return sampling::at(ViewedInput{task, layer, layer.size.width, layer.size.height}, position.x, position.y,
                      {layer.interpolation, layer.fill});
}

// adjust_sharpness(): the outermost pixels are unchanged.
UNSTARVE_HD inline Pixel sharpened_pixel(const Task& task, const Layer& layer, int x, int y) {
  const ViewedInput image{task, layer, layer.size.width, layer.size.height};
  Pixel pixel = image.pixel(x, y);
  if (x == 0 || y == 0 || x == image.width - 1 || y == image.height - 1) return pixel;
  std::int32_t nine[kChannels] = {};
  for (int row = y - 1; row <= y + 1; ++row) {
    for (int column = x - 1; column <= x + 1; ++column) {
      const Pixel near = image.pixel(column, row);
      for (std::size_t c = 0; c < kChannels; ++c) nine[c] += near[c];
    }
  }
  for (std::size_t c = 0; c < kChannels; ++c) pixel[c] = sharpened(nine[c], pixel[c], layer.value);
  return pixel;
}

// gaussian_blur()'s first half: the sums of a row, in 1/256.
UNSTARVE_HD inline std::array<std::uint16_t, kChannels> blurred_across(const Task& task, const Layer& layer, int x,
                                                                       int y) {
  const ViewedInput image{task, layer, layer.size.width, layer.size.height};
  const std::uint32_t* const weights = task.program.blur_weights + layer.first_blur_weight;
  const Pixel middle = image.pixel(x, y);
  std::uint32_t sums[kChannels];
  for (std::size_t c = 0; c < kChannels; ++c) sums[c] = weights[0] * middle[c] + 128;
  for (int k = 1; k <= layer.radius; ++k) {
    const Pixel before = image.pixel(mirrored_index(x - k, image.width), y);
    const Pixel after = image.pixel(mirrored_index(x + k, image.width), y);
    for (std::size_t c = 0; c < kChannels; ++c) {
      sums[c] += weights[k] * (static_cast<std::uint32_t>(before[c]) + static_cast<std::uint32_t>(after[c]));
    }
  }
  std::array<std::uint16_t, kChannels> blurred{};
  for (std::size_t c = 0; c < kChannels; ++c) blurred[c] = static_cast<std::uint16_t>(sums[c] >> 8);
  return blurred;
}

// gaussian_blur()'s second half.
UNSTARVE_HD inline Pixel blurred_down(const Task& task, const Layer& layer, int x, int y) {
  const std::uint32_t* const weights = task.program.blur_weights + layer.first_blur_weight;
  const auto at = [&](int row) {
    const std::int64_t pixel = std::int64_t{mirrored_index(row, layer.size.height)} * layer.size.width + x;
    return task.wide() + pixel * kChannels;
  };
  std::uint32_t sums[kChannels];
  for (int c = 0; c < kChannels; ++c) sums[c] = weights[0] * at(y)[c] + (1u << 23);
  for (int k = 1; k <= layer.radius; ++k) {
    const std::uint16_t* const above = at(y - k);
    const std::uint16_t* const below = at(y + k);
    for (int c = 0; c < kChannels; ++c) {
      sums[c] += weights[k] * (static_cast<std::uint32_t>(above[c]) + static_cast<std::uint32_t>(below[c]));
    }
  }
  Pixel pixel{};
  for (std::size_t c = 0; c < kChannels; ++c) pixel[c] = static_cast<std::uint8_t>(sums[c] >> 24);
  return pixel;
}

UNSTARVE_HD inline Pixel coloured(const Task& task, const Layer& layer, Pixel pixel) {
  for (std::int32_t i = 0; i < layer.points; ++i) {
    const PointStep step = task.program.points[layer.first_point + i];
    switch (step.kind) {
      case PointKind::kTable:
      case PointKind::kMeasured: {
        const Table& table =
            step.kind == PointKind::kTable ? task.program.tables[step.value] : task.tables()[step.value];
        for (std::size_t c = 0; c < kChannels; ++c) pixel[c] = table[c][pixel[c]];
        break;
      }
      case PointKind::kBlendGrey: pixel = point::blend_grey(pixel, step.value); break;
      case PointKind::kHue: pixel = point::shift_hue(pixel, step.value); break;
      case PointKind::kPermute: pixel = point::permute(pixel, step.value); break;
    }
  }
  return pixel;
}

UNSTARVE_HD inline bool within(const Rect& rect, int x, int y) {
  return x >= rect.x && x < rect.x + rect.width && y >= rect.y && y < rect.y + rect.height;
}

UNSTARVE_HD inline Pixel covering(const Layer& layer, int x, int y) {
  if (layer.noise == 0) return layer.fill;
  const auto index = std::int64_t{y - layer.rect.y} * layer.rect.width + (x - layer.rect.x);
  return noise_pixel(layer.noise, static_cast<std::uint64_t>(index));
}

// Descends from layer `top` to the layer that has the pixel's value, then applies the colours of the layers above it.
UNSTARVE_HD inline Pixel read_layer(const Task& task, std::int32_t top, std::int32_t x, std::int32_t y) {
  const Layer* const layers = task.program.layers;
  std::int32_t from = top;  // the first layer whose colours apply
  Pixel pixel{};
  for (std::int32_t i = top;; --i) {
    const Layer& layer = layers[i];
    from = i + 1;
    if (layer.kind == LayerKind::kView) {
      if (!map_to_input(layer.view, x, y)) {
        pixel = layer.view.fill;
        break;
      }
      if (layer.input.from == From::kLayer) continue;
      from = i;
      pixel = read_memory(task, layer.input, x, y);
      break;
    }
    if (layer.kind == LayerKind::kCover) {
      if (within(layer.rect, x, y)) {
        pixel = covering(layer, x, y);
        break;
      }
      if (layer.input.from == From::kLayer) continue;
      pixel = read_memory(task, layer.input, x, y);
      break;
    }
    switch (layer.kind) {
      case LayerKind::kResize: pixel = resized(task, layer, x, y); break;
      case LayerKind::kWarp: pixel = warped(task, layer, x, y); break;
      case LayerKind::kSharpen: pixel = sharpened_pixel(task, layer, x, y); break;
      default: pixel = blurred_down(task, layer, x, y);
    }
    break;
  }
  for (; from <= top; ++from) pixel = coloured(task, layers[from], pixel);
  return pixel;
}

}  // namespace unstarve::gpu
