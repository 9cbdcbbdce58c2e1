#pragma once
// The end of a chain: writes a frame's pixels to the batch; normalises, converts and arranges them in one pass.
//
// value = (pixel / 255 - mean[c]) / std[c], computed as pixel * scale[c] + bias[c] in float32 (one fused
// multiply-add, so that every instruction set gives the same bits), rounded to the element type to nearest even. kUint8
// stores the pixel itself and ignores mean and std.
// Threads: pure. Failure: Error(kArgument) from the constructor if a std is 0 or a value not finite.
// Cost: large samples (in uint8: whole rows without gaps) bypass the cache with streaming stores; store() returns after
// a fence, so that other threads see them as any other write. Fastest if every sample starts at a multiple of 64 bytes.

#include <cstddef>
#include <memory>

#include "unstarve/core/memory/cache_fetch.h"
#include "unstarve/ops/base/frame.h"
#include "unstarve/ops/store/store_format.h"

namespace unstarve {

struct ValueMap;  // see convert.h

// Precomputed form of a StoreFormat; cheap to copy.
class Storer {
 public:
  explicit Storer(const StoreFormat& format);
  [[nodiscard]] std::size_t sample_bytes(Size size) const {
    return static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) * kChannels *
           element_bytes(format_.type);
  }
  // Writes sample_bytes(frame.size()) bytes at `dst`, which must be aligned to the element size.
  // Fetches the record of the next sample into the CPU cache meanwhile, if `prefetch` is given.
  void store(const Frame& frame, void* dst, CacheFetch* prefetch = nullptr) const;
  // The same by a scalar loop, for tests: bit-equal to store().
  void store_reference(const Frame& frame, void* dst) const;

 private:
  StoreFormat format_;
  std::shared_ptr<const ValueMap> map_;
};

}  // namespace unstarve
