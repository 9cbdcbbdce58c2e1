#pragma once
// equalize and auto_contrast of one value, given the statistics of the image: for the host and for GPUs.

#include <algorithm>
#include <cstdint>

#include "unstarve/ops/base/host_device.h"

namespace unstarve {

// `below`: step / 2 plus the number of pixels of smaller values. `step` 0: nothing changes.
UNSTARVE_HD inline std::uint8_t equalized(std::uint8_t value, std::uint64_t below, std::uint64_t step) {
  return step == 0 ? value : static_cast<std::uint8_t>(std::min<std::uint64_t>(below / step, 255));
}

// Maps the least value to 0 and the largest to 255. A channel with one value is unchanged.
UNSTARVE_HD inline std::uint8_t spread(int value, int least, int most) {
  return static_cast<std::uint8_t>(least < most ? std::clamp(255 * (value - least) / (most - least), 0, 255) : value);
}

}  // namespace unstarve
