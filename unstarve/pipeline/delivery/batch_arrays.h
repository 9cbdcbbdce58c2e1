#pragma once
// The memory of one batch: pixels and one value per sample of everything else.
//
//   pixels   | sample 0, sample_bytes | sample 1 | ...      labels | 0 | 1 | ...      ids | 0 | 1 | ...
//
// Ownership: owns the memory. Threads: several workers write different samples; compact() and repeat() are for the one
//            that completes the batch.
// Failure:   make_arrays() throws Error(kMemory) if the device has no memory.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "unstarve/device/device.h"
#include "unstarve/pipeline/plan/sample_extent.h"

namespace unstarve {

struct SlotLayout {
  std::size_t samples = 0;       // per batch
  std::size_t sample_bytes = 0;  // of the largest sample
  std::size_t slot_bytes = 0;    // of a whole slot, as reported by memory_bytes()
  std::size_t classes = 0;       // of the targets
  bool padded = false;           // samples vary in size; a slot has room for one more, as scratch memory
  bool files = false;            // samples may be delivered as files
  bool numbered = false;         // relaxed order
  bool pinned = false;
};

// Vectors have one element per sample, if not stated otherwise.
struct BatchArrays {
  std::unique_ptr<Memory> memory;
  std::vector<std::int64_t> labels;
  std::vector<std::uint64_t> ids;
  std::vector<std::uint8_t> good;      // 0: skipped by the error policy
  std::vector<float> targets;          // samples x classes; empty without batch operations
  std::vector<PixelExtent> sizes;      // before padding; empty unless batches are padded
  std::vector<FileExtent> files;       // empty unless a device takes part in decoding
  std::vector<std::uint64_t> numbers;  // of the samples in the run; relaxed order only

  [[nodiscard]] std::size_t classes() const { return labels.empty() ? 0 : targets.size() / labels.size(); }
  // Moves the good ones of the first `samples` samples to the front, in order, and returns their number. Targets stay
  // where they are. Samples are `sample_bytes` apart.
  std::size_t compact(std::size_t samples, std::size_t sample_bytes);
  // Appends copies of the first `samples` samples, in order, until there are `count`.
  void repeat(std::size_t samples, std::size_t count, std::size_t sample_bytes);
};

// The pixels are not accessed, so that the workers cause the page faults in parallel.
[[nodiscard]] BatchArrays make_arrays(const SlotLayout& layout, Device& device);

}  // namespace unstarve
