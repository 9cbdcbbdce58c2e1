#pragma once
// The filters for one value and its neighbours, for the host and for GPUs.

#include <cstdint>

#include "unstarve/ops/base/host_device.h"
#include "unstarve/ops/base/point_pixel.h"

namespace unstarve {

// floor(n / 13) for n up to 3,321 by multiplication: the error of 80,660 / 2^20 is below 1/13 for all of them.
inline constexpr std::int32_t kThirteenth = 80'660;

// adjust_sharpness() of a value; `nine`: the sum of the value and its eight neighbours; weight: in 1/65536.
UNSTARVE_HD inline std::uint8_t sharpened(std::int32_t nine, std::int32_t value, std::int32_t weight) {
  const std::int32_t smooth = ((nine + 4 * value + 6) * kThirteenth) >> 20;
  return point::clipped(((smooth << kPointBits) + kPointSlack + weight * (value - smooth)) >> kPointBits);
}

}  // namespace unstarve
