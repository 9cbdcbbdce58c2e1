#pragma once
// The first layer of a network: a 2x2 convolution with fixed filters that decorrelates the values of a patch.
//
// The filters are the eigenvectors of the second moments of all 2x2 patches of the normalised images, each divided by
// sqrt(eigenvalue + 5e-4), in descending order of the eigenvalues, then the same with the other sign: 12 values of a
// patch give 24 channels. Only the bias is trained, and starts at 0. As in airbench94 (Jordan, "94% on CIFAR-10 in 3.29
// seconds on a single GPU", arXiv:2404.00498). In each eigenvector the largest component is positive.
//
// Until prepare(), the filters are zero. They are a buffer, so they are part of the network's state.
// Threads: as any Network. Failure: exceptions of LAPACK, for example for values that are not finite.

#include "unstarve/models/layers.h"

namespace unstarve {

class Whitening final : public Network {
 public:
  static constexpr int kChannels = 24;

  Whitening();
  torch::Tensor forward(torch::Tensor x) override;
  double own_macs() const override { return macs_; }
  void prepare(const torch::Tensor& images, const SumOverRanks* sum) override;
  [[nodiscard]] bool prepared() const override { return weight_.any().item<bool>(); }
  [[nodiscard]] torch::Tensor whitening_bias() const override { return bias_; }

 private:
  torch::Tensor weight_;
  torch::Tensor bias_;
  double macs_ = 0;
};

}  // namespace unstarve
