#include "unstarve/torch/common/views.h"

namespace unstarve {
namespace {

// Moved by one pixel along `dim`. The pixel that becomes visible is the second one from that border.
torch::Tensor moved_forward(const torch::Tensor& x, std::int64_t dim) {
  return torch::cat({x.narrow(dim, 1, 1), x.narrow(dim, 0, x.size(dim) - 1)}, dim);
}
torch::Tensor moved_back(const torch::Tensor& x, std::int64_t dim) {
  return torch::cat({x.narrow(dim, 1, x.size(dim) - 1), x.narrow(dim, x.size(dim) - 2, 1)}, dim);
}

}  // namespace

torch::Tensor mean_logits(const torch::Tensor& images, TestAugmentation augmentation, torch::MemoryFormat format,
                          const std::function<torch::Tensor(const torch::Tensor&)>& forward) {
  const auto with_mirror = [&](const torch::Tensor& x) {
    return 0.5 * forward(x.contiguous(format)) + 0.5 * forward(x.flip({3}).contiguous(format));
  };
  if (augmentation == TestAugmentation::kNone) return forward(images.contiguous(format));
  const torch::Tensor mirrored = with_mirror(images);
  if (augmentation == TestAugmentation::kMirror) return mirrored;
  const torch::Tensor down_right = with_mirror(moved_forward(moved_forward(images, 2), 3));
  const torch::Tensor up_left = with_mirror(moved_back(moved_back(images, 2), 3));
  return 0.5 * mirrored + 0.25 * (down_right + up_left);
}

}  // namespace unstarve
