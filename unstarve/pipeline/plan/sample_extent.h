#pragma once
// Sizes that accompany samples whose part of a batch slot does not hold plain pixels of one size.

#include <array>
#include <cstdint>

namespace unstarve {

// Height and width of a sample before it was padded.
using PixelExtent = std::array<std::int32_t, 2>;

// Of a sample that is delivered as a file for a device to decode: bytes, image height, image width. Bytes 0: the sample
// is delivered as pixels.
using FileExtent = std::array<std::int32_t, 3>;

}  // namespace unstarve
