#include "unstarve/ops/store/store.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "unstarve/core/format_error.h"
#include "unstarve/ops/base/window.h"
#include "unstarve/ops/store/convert.h"
#include "unstarve/ops/store/store_small.h"

namespace unstarve {
namespace {

// 8-bit pixels staged for the conversion: few enough to stay in the first-level cache together with the source rows,
// enough for a 32 x 32 sample or several rows of a 224 x 224 one.
constexpr int kStagePixels = 4096;
// Not a multiple of 4096: loads and stores at such distances alias and wait for each other.
constexpr int kStageStride = kStagePixels + 64;

// Samples of at least this size bypass the cache. On a Zen 5 core a 224 x 224 float32 sample took 20 us this way and
// 34 us through the cache; a 32 x 32 one (12 KB) took 780 ns, much of it the fence at the end, against 640 ns.
constexpr std::size_t kStreamBytes = 64 * 1024;

}  // namespace

// value = (pixel / 255 - mean) / std; by default mean 0, std 1, float32, NCHW (store_format.h).
std::shared_ptr<const ValueMap> make_map(const Normalisation& normalisation) {
  auto map = std::make_shared<ValueMap>();
  for (std::size_t c = 0; c < kChannels; ++c) {
    const double mean = normalisation.mean[c], deviation = normalisation.std[c];
    map->scale[c] = static_cast<float>(1.0 / (255.0 * deviation));
    map->bias[c] = static_cast<float>(-mean / deviation);
    if (!std::isfinite(map->scale[c]) || !std::isfinite(map->bias[c]) || !std::isfinite(map->scale[c] * 256)) {
      throw argument_error(
          "normalisation: mean {:f} and std {:f} of channel {} give values that are not finite numbers; std must not "
          "be 0",
          mean, deviation, c);
    }
    for (std::size_t v = 0; v < 256; ++v) {
      map->table[c][v] = std::fma(static_cast<float>(v), map->scale[c], map->bias[c]);
    }
  }
  return map;
}

namespace {

// Output columns [x, x + width) of a frame.
Frame columns(const Frame& frame, int x, int width) {
  Frame part = frame;
  part.crop({x, 0, width, frame.height});
  return part;
}

void convert_frame(const Frame& frame, const ValueMap& map, const StoreFormat& format, void* dst,
                   CacheFetch& prefetch) {
  const bool planar = format.layout == Layout::kNchw;
  // 32 or 64 pixels wide, as CIFAR.
  if (planar && store_small(frame, map, format.type, dst, prefetch)) return;
  prefetch.finish();
  const auto width = static_cast<std::size_t>(frame.width);
  const std::size_t plane = width * static_cast<std::size_t>(frame.height);
  alignas(64) std::uint8_t stage[kStageStride * kChannels + 64];
  const auto how =
      plane * kChannels * element_bytes(format.type) >= kStreamBytes ? Destination::kMemory : Destination::kCache;
  const auto elements_at = [&](std::size_t index) {
    return Elements{format.type, static_cast<std::uint8_t*>(dst) + index * element_bytes(format.type), how};
  };
  // Wide frames are processed in strips of columns, others in as many whole rows as fit.
  const int strip = std::min(frame.width, kStagePixels);
  const int rows_per_step = strip == frame.width ? kStagePixels / strip : 1;
  for (int x = 0; x < frame.width; x += strip) {
    const int part_width = std::min(strip, frame.width - x);
    const Frame part = strip == frame.width ? frame : columns(frame, x, part_width);
    for (int y = 0; y < frame.height; y += rows_per_step) {
      const int rows = std::min(rows_per_step, frame.height - y);
      const auto pixels = static_cast<std::size_t>(part_width) * static_cast<std::size_t>(rows);
      const std::size_t at = static_cast<std::size_t>(y) * width + static_cast<std::size_t>(x);
      if (planar) {
        copy_window(part, y, rows, {stage, part_width, kStageStride});
        for (int c = 0; c < kChannels; ++c) {
          const auto first = static_cast<std::size_t>(c) * plane + at;
          convert_plane(map, c, {stage + c * kStageStride, pixels}, elements_at(first));
        }
      } else {
        copy_window(part, y, rows, {stage, std::ptrdiff_t{part_width} * kChannels, 1});
        convert_interleaved(map, {stage, pixels * kChannels}, elements_at(at * kChannels));
      }
    }
  }
  if (how == Destination::kMemory) finish_streaming();
}

// The first byte of a window that is stored as it is, as one run of interleaved bytes; else null.
const std::uint8_t* as_one_run(const Frame& frame) {
  const PixelView& pixels = frame.pixels;
  const bool whole_rows = pixels.interleaved() && frame.left == 0 && frame.width == pixels.width &&
                          pixels.row_stride == std::ptrdiff_t{frame.width} * kChannels;
  const bool within = frame.top >= 0 && frame.top + frame.height <= pixels.height;
  if (!whole_rows || !within || frame.mirrored || frame.points != nullptr) return nullptr;
  return pixels.data + frame.top * pixels.row_stride;
}

}  // namespace

Storer::Storer(const StoreFormat& format) : format_(format), map_(make_map(format.normalisation)) {}

// copy_window() carries out the frame's crops, mirrors and changes of colour while it copies.
void Storer::store(const Frame& frame, void* dst, CacheFetch* prefetch) const {
  CacheFetch nothing;
  CacheFetch& fetch = prefetch ? *prefetch : nothing;
  if (frame.width <= 0 || frame.height <= 0) return;
  if (format_.type != ElementType::kUint8) return convert_frame(frame, *map_, format_, dst, fetch);
  fetch.finish();
  const std::ptrdiff_t width = frame.width;
  auto* to = static_cast<std::uint8_t*>(dst);
  if (format_.layout == Layout::kNchw) {
    // The planes of a 1 x 1 image have distance 1, as interleaved channels do; the result is the same.
    copy_window(frame, 0, frame.height, {to, width, width * frame.height});
  } else if (const std::uint8_t* const run = as_one_run(frame);
             run != nullptr && sample_bytes(frame.size()) >= kStreamBytes) {
    copy_bypassing_cache(run, sample_bytes(frame.size()), to);
    finish_streaming();
  } else {
    copy_window(frame, 0, frame.height, {to, width * kChannels, 1});
  }
}

void Storer::store_reference(const Frame& frame, void* dst) const {
  const auto width = static_cast<std::size_t>(frame.width), height = static_cast<std::size_t>(frame.height);
  for (std::size_t c = 0; c < kChannels; ++c) {
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t x = 0; x < width; ++x) {
        const std::uint8_t pixel = window_value(frame, static_cast<int>(x), static_cast<int>(y), static_cast<int>(c));
        const float value = std::fma(static_cast<float>(pixel), map_->scale[c], map_->bias[c]);
        const std::size_t at =
            format_.layout == Layout::kNchw ? (c * height + y) * width + x : (y * width + x) * kChannels + c;
        with_element(format_.type, [&](auto element) {
          auto& to = static_cast<decltype(element)*>(dst)[at];
          if constexpr (sizeof(to) == 1)
            to = pixel;
          else
            write_element(value, to);
        });
      }
    }
  }
}

}  // namespace unstarve
