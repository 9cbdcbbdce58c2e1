#pragma once
// One batch, borrowed from the loader: move-only; the destructor returns its slot.
//
// A batch that is default-constructed or moved from has no samples. It may outlive its Loader, but not the device.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "unstarve/pipeline/plan/sample_extent.h"

namespace unstarve {

class Delivery;
struct Size;
struct Slot;

class Batch {
 public:
  Batch() = default;

  // samples() x 3 x height x width elements (or NHWC), contiguous, 64-byte aligned, of the spec's type.
  [[nodiscard]] const std::uint8_t* pixels() const;
  [[nodiscard]] std::size_t pixel_bytes() const;
  [[nodiscard]] std::span<const std::int64_t> labels() const;
  // samples() x classes() probabilities; empty without batch operations.
  [[nodiscard]] std::span<const float> targets() const;
  [[nodiscard]] std::size_t classes() const;
  [[nodiscard]] std::span<const std::uint64_t> ids() const;  // of the samples, in the dataset
  [[nodiscard]] std::size_t samples() const;
  // The number of the first samples that belong to this rank's part of the epoch. The others are copies that fill up
  // the batch (batch.last: pad), or the first samples of the epoch, so that all ranks have equally many.
  [[nodiscard]] std::size_t valid() const;
  [[nodiscard]] Size size() const;  // of each sample
  // Padded batches (batch.pad): height and width of each sample before padding, at its top left. Otherwise empty.
  [[nodiscard]] std::span<const PixelExtent> sizes() const;
  // With Loader::Options::decode: which samples are files instead of pixels. Otherwise empty.
  [[nodiscard]] std::span<const FileExtent> files() const;
  [[nodiscard]] std::uint32_t epoch() const;
  [[nodiscard]] std::uint64_t index() const;  // within its epoch
  [[nodiscard]] bool last_of_epoch() const;
  [[nodiscard]] bool pinned() const;  // memory

 private:
  friend class Loader;
  struct Release {
    std::shared_ptr<Delivery> delivery;
    void operator()(Slot* slot) const;
  };
  Batch(Slot& slot, std::shared_ptr<Delivery> delivery) : slot_(&slot, Release{std::move(delivery)}) {}
  [[nodiscard]] const Slot& slot() const;

  std::unique_ptr<Slot, Release> slot_;
};

}  // namespace unstarve
