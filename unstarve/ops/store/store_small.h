#pragma once
// Small planar images (CIFAR's kind) from window to batch in one pass: read under a mask, so that what lies beyond the
// image is filled without a branch, mirrored, normalised and written, in registers. Private to ops.
//
// Only on instruction sets whose masked loads never touch a byte that is masked out (AVX-512): elsewhere, and for other
// frames, false, and nothing is written or fetched.

#include <cstdint>

#include "unstarve/core/cache_fetch.h"
#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/store/convert.h"

namespace unstarve {

// Writes planes (NCHW) as convert_plane() would, and fetches all of `ahead` between their rows. False: pixels that are
// not planar, colours that are put off, a width that is not 32 or 64, `dst` not at a cache line.
[[nodiscard]] bool store_small(const Frame& frame, const ValueMap& map, float* dst, CacheFetch& ahead);
[[nodiscard]] bool store_small(const Frame& frame, const ValueMap& map, Bfloat16* dst, CacheFetch& ahead);
[[nodiscard]] bool store_small(const Frame& frame, const ValueMap& map, Float16* dst, CacheFetch& ahead);

}  // namespace unstarve
