#include "unstarve/models/whitening.h"

#include <tuple>

namespace unstarve {
namespace {

constexpr int kKernel = 2;
constexpr std::int64_t kImageChannels = 3;
constexpr std::int64_t kPatch = kImageChannels * kKernel * kKernel;  // values
constexpr double kEpsilon = 5e-4;                                    // added to the eigenvalues
constexpr std::int64_t kImagesAtOnce = 128;                          // limits the memory for patches

// Sums over all patches: of the products of each pair of values, and 1.
torch::Tensor sums_of_patches(const torch::Tensor& images) {
  torch::Tensor products = torch::zeros({kPatch, kPatch}, images.options().dtype(torch::kFloat64));
  std::int64_t count = 0;
  for (const torch::Tensor& part : images.split(kImagesAtOnce)) {
    const torch::Tensor patches = part.to(torch::kFloat64)
                                      .unfold(2, kKernel, 1)
                                      .unfold(3, kKernel, 1)
                                      .permute({0, 2, 3, 1, 4, 5})
                                      .reshape({-1, kPatch});
    products.add_(patches.t().mm(patches));
    count += patches.size(0);
  }
  return torch::cat({products.flatten(), torch::full({1}, count, products.options())});
}

// Eigenvectors have any sign.
torch::Tensor with_positive_peaks(const torch::Tensor& rows) {
  return rows * rows.gather(1, rows.abs().argmax(1, /*keepdim=*/true)).sign();
}

}  // namespace

Whitening::Whitening()
    : weight_(register_buffer("weight", torch::zeros({kChannels, kImageChannels, kKernel, kKernel}))),
      bias_(register_parameter("bias", torch::zeros({kChannels}))) {}

torch::Tensor Whitening::forward(torch::Tensor x) {
  torch::Tensor y = torch::conv2d(x, weight_, bias_);
  macs_ = static_cast<double>(y.size(2) * y.size(3)) * static_cast<double>(weight_.numel());
  return y;
}

void Whitening::prepare(const torch::Tensor& images, const SumOverRanks* sum) {
  const torch::NoGradGuard no_grad;
  torch::Tensor sums = sums_of_patches(images);
  if (sum != nullptr) (*sum)(sums);
  sums = sums.to(torch::kCPU);
  const torch::Tensor moments = sums.narrow(0, 0, kPatch * kPatch).view({kPatch, kPatch}) / sums[-1];
  const auto [ascending, columns] = torch::linalg_eigh(moments, "U");
  const torch::Tensor eigenvalues = ascending.flip(0).clamp_min(0).unsqueeze(1);
  const torch::Tensor filters = with_positive_peaks(columns.t().flip(0)) / (eigenvalues + kEpsilon).sqrt();
  weight_.copy_(torch::cat({filters, -filters}).view(weight_.sizes()));
}

}  // namespace unstarve
