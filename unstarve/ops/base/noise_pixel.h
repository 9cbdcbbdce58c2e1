#pragma once
// Noise computed from a key and the index of the pixel, for the host and for GPUs. Private to ops.

#include <array>
#include <cstdint>

#include "unstarve/core/image.h"
#include "unstarve/ops/base/host_device.h"

namespace unstarve {

// Pixel `index` of the noise of a key: the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", 2014) of a counter.
UNSTARVE_HD inline std::array<std::uint8_t, kChannels> noise_pixel(std::uint64_t key, std::uint64_t index) {
  std::uint64_t bits = key + (index + 1) * 0x9E37'79B9'7F4A'7C15U;
  bits = (bits ^ (bits >> 30)) * 0xBF58'476D'1CE4'E5B9U;
  bits = (bits ^ (bits >> 27)) * 0x94D0'49BB'1331'11EBU;
  bits ^= bits >> 31;
  return {static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8), static_cast<std::uint8_t>(bits >> 16)};
}

}  // namespace unstarve
