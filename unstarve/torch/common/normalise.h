#pragma once
// Converts uint8 pixels to normalised float32 on their device.
//
// value = pixel * scale[c] + bias[c], equal to the loader's store (ops/store/store.h) up to rounding.

#include <vector>

#include <torch/types.h>

#include "unstarve/ops/store/store.h"

namespace unstarve {

class Normaliser {
 public:
  // Converts N x 3 x H x W in any memory format to a new float32 tensor in `format`.
  [[nodiscard]] torch::Tensor operator()(const torch::Tensor& pixels, const Normalisation& normalisation,
                                         torch::MemoryFormat format);
  // Copies what calls with `normalisation` will read to a GPU, unless it is there.
  void prepare(const Normalisation& normalisation, torch::Device device);
  // What the latest call on a GPU read in addition to the pixels. Later calls may replace these tensors.
  [[nodiscard]] std::vector<torch::Tensor> constants() const { return {scale_, bias_}; }

 private:
  // Cached on the device for the last normalisation: copying three numbers would synchronise at every step.
  Normalisation prepared_;
  torch::Tensor scale_;
  torch::Tensor bias_;
};

}  // namespace unstarve
