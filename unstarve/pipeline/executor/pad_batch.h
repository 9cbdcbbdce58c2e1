#pragma once
// Pads samples of different sizes to one size, on the right and at the bottom.
//
//   | sample 0, its own size ....... | sample 1 ....... | ...      as written by the workers, `stride` bytes apart
//   | sample 0, padded | sample 1, padded | ...                    as delivered
//
// Threads: pure. Cost: each sample is copied twice.

#include <array>
#include <cstdint>
#include <span>

#include "unstarve/ops/store/store.h"
#include "unstarve/pipeline/plan/sample_extent.h"

namespace unstarve {

// One element per channel, as the storer writes a pixel of three times `value`. Other bytes are unused.
using FillPixel = std::array<std::uint8_t, kChannels * sizeof(float)>;
[[nodiscard]] FillPixel fill_pixel(const Storer& storer, int value);

// The largest height and the largest width.
[[nodiscard]] Size largest_of(std::span<const PixelExtent> sizes);

// The samples of a padded batch.
struct PaddedFormat {
  Size size;
  StoreFormat store;
  FillPixel fill;
};

// Pads the samples in `memory`, which are `stride` bytes apart, and packs them without gaps. `scratch` holds one sample
// of the largest of `sizes`. Preconditions: no sample is larger than format.size, and a padded sample has at most
// `stride` bytes.
void pad_samples(std::uint8_t* memory, std::size_t stride, std::span<const PixelExtent> sizes,
                 const PaddedFormat& format, std::uint8_t* scratch);

}  // namespace unstarve
