#pragma once
// Images that stay on the device, from which batches are gathered (Trainer::reserve_images()).
//
//   kept    images x (height + 1) x (width + 1) x 3, uint8; the last row and column have the colour of the border
//   batch   samples x rows x columns x 3: pixel (x, y) of sample i is kept[image i, row y of i, column x of i]
//
// Ownership: owns the images. Threads: one at a time.
// Failure:   Error(kMemory) if the device has no memory for them; Error(kArgument) for a batch of another size or
//            format.

#include <cstdint>

#include <torch/types.h>

#include "unstarve/train/trainer.h"

namespace unstarve {

class KeptImages {
 public:
  explicit KeptImages(torch::Device device) : device_(device) {}

  // As Trainer::reserve_images() and keep_images().
  void reserve(std::int64_t count, Size size, const Rgb& border);
  void keep(std::int64_t first, const HostBatch& batch);

  // Writes a batch to `to`, samples x size.height x size.width x 3. `gather`: as HostBatch::gather, on the device. Only
  // queued on a GPU.
  void gather(const torch::Tensor& gather, std::int64_t samples, Size size, torch::Tensor& to) const;

 private:
  void finish() const;

  torch::Device device_;
  Size size_;
  torch::Tensor images_;
};

// The same on any device, by one kernel of libtorch for indexed tensors, and on the host by a loop, which is faster
// there.
void gather_by_index(const torch::Tensor& images, const torch::Tensor& gather, torch::Tensor& to);
void gather_by_loop(const torch::Tensor& images, const torch::Tensor& gather, torch::Tensor& to);

}  // namespace unstarve
