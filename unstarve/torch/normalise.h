#pragma once
// uint8 pixels to normalised float32, on whichever device they are.
//
// value = pixel * scale[c] + bias[c], as the loader's store does it (ops/store/store.h), to rounding.

#include <torch/torch.h>

#include "unstarve/ops/store/store.h"

namespace unstarve {

class Normaliser {
 public:
  // N x 3 x H x W in any memory format to float32 in `format`, a new tensor.
  [[nodiscard]] torch::Tensor operator()(const torch::Tensor& pixels, const Normalisation& normalisation,
                                         torch::MemoryFormat format);

 private:
  void prepare(const Normalisation& normalisation, torch::Device device);

  // Kept on the device for the normalisation last seen: bringing three numbers there would wait for it at every step.
  Normalisation prepared_;
  torch::Tensor scale_;
  torch::Tensor bias_;
};

}  // namespace unstarve
