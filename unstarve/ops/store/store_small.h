#pragma once
// Stores small planar images (like CIFAR's) in one pass in registers: masked loads, so that fill needs no branch, then
// mirroring, normalisation and the write. Private to ops.
//
// Only on instruction sets whose masked loads never touch masked-out bytes (AVX-512). Otherwise, and for other frames,
// store_small() returns false and writes and prefetches nothing.

#include <cstdint>

#include "unstarve/core/memory/cache_fetch.h"
#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/store/convert.h"

namespace unstarve {

// Writes planes (NCHW) as convert_plane() would and prefetches all of `fetch` between their rows. False if the
// pixels are not planar, the frame has a colour chain, the width is not 32 or 64, or `dst` is not at a cache line.
[[nodiscard]] bool store_small(const Frame& frame, const ValueMap& map, ElementType type, void* dst, CacheFetch& fetch);

}  // namespace unstarve
