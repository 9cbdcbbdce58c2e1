#pragma once
// Samples of several sizes become one batch: each is filled up to the right and below.
//
//   | sample 0, its own size ....... | sample 1 ....... | ...      as the workers wrote them, `stride` bytes apart
//   | sample 0, padded | sample 1, padded | ...                    what the consumer gets
//
// Threads: pure. Cost: each sample is copied twice.

#include <array>
#include <cstdint>
#include <span>

#include "unstarve/ops/store/store.h"

#include "unstarve/pipeline/plan/sample_extent.h"

namespace unstarve {

// An element per channel, as the storer writes a pixel of three times `value`; the bytes behind are not used.
using FillPixel = std::array<std::uint8_t, kChannels * sizeof(float)>;
[[nodiscard]] FillPixel fill_pixel(const Storer& storer, int value);

// The largest height and the largest width of them.
[[nodiscard]] Size largest_of(std::span<const PixelExtent> sizes);

// Makes of the samples in `memory`, packed each and `stride` bytes apart, such of size `to`, packed behind each other.
// `scratch` holds a sample of the largest of `sizes`. Preconditions: none is larger than `to`, and a sample of size
// `to` has at most `stride` bytes.
void pad_samples(std::uint8_t* memory, std::size_t stride, std::span<const PixelExtent> sizes, Size to,
                 const StoreFormat& format, const FillPixel& fill, std::uint8_t* scratch);

}  // namespace unstarve
