#include "unstarve/torch/forward_pass.h"

#include "unstarve/torch/common/guards.h"
#include "unstarve/torch/common/views.h"

namespace unstarve {

torch::Tensor ForwardPass::images(const Staging::Current& batch) {
  if (batch.pixels.scalar_type() == torch::kUInt8)
    return normalise_(batch.pixels, batch.normalisation, placement_.format);
  const torch::Tensor pixels = placement_.type == torch::kFloat32 ? batch.pixels.to(torch::kFloat32) : batch.pixels;
  return pixels.contiguous(placement_.format);
}

void ForwardPass::prepare(const Staging::Current& batch) {
  if (!placement_.device.is_cpu() && batch.pixels.scalar_type() == torch::kUInt8)
    normalise_.prepare(batch.normalisation, placement_.device);
}

torch::Tensor ForwardPass::logits(const Staging::Current& batch, TestAugmentation views) {
  const AutocastScope autocast(placement_.device.type(), placement_.type);
  return mean_logits(images(batch), views, placement_.format,
                     [&](const torch::Tensor& view) { return network_.forward(view).to(torch::kFloat32); });
}

}  // namespace unstarve
