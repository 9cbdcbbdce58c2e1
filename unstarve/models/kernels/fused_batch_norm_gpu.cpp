#include <ATen/DeviceAccelerator.h>

#include "unstarve/models/kernels/batch_norm_device.h"
#include "unstarve/models/kernels/fused_batch_norm_passes.h"

namespace unstarve::fused_norm {
namespace {

NormElement element_of(const torch::Tensor& x) {
  switch (x.scalar_type()) {
    case torch::kHalf: return NormElement::kFloat16;
    case torch::kBFloat16: return NormElement::kBfloat16;
    default: return NormElement::kFloat32;
  }
}

// For passes over tensors of the shape and type of the first; others may be undefined.
NormLaunch launch_of(std::initializer_list<torch::Tensor> tensors) {
  std::uintptr_t addresses = 0;
  for (const torch::Tensor& tensor : tensors) {
    if (tensor.defined()) addresses |= reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr());
  }
  const torch::Tensor& x = *tensors.begin();
  const std::int64_t channels = x.size(1);
  const NormElement type = element_of(x);
  return {.grid = norm_grid(x.numel() / channels, channels, norm_vector(channels, type, addresses)),
          .type = type,
          .device = x.device().index(),
          .stream = at::accelerator::getCurrentStream(x.device().index()).native_handle()};
}

torch::Tensor workspace_of(const NormLaunch& launch, const torch::Tensor& x) {
  return torch::empty({launch.grid.workspace()}, x.options().dtype(torch::kFloat32));
}

const void* data_of(const torch::Tensor& tensor) { return tensor.defined() ? tensor.const_data_ptr() : nullptr; }

}  // namespace

bool gpu_supports(const torch::Tensor& x) {
  const auto type = x.scalar_type();
  return x.is_cuda() && has_device_norm() &&
         (type == torch::kFloat32 || type == torch::kHalf || type == torch::kBFloat16);
}

torch::Tensor gpu_table(const torch::Tensor& x, const BatchNormState& state) {
  torch::Tensor table = torch::empty({kTableRows, x.size(1)}, x.options().dtype(torch::kFloat32));
  const NormLaunch launch = launch_of({x});
  const torch::Tensor parts = workspace_of(launch, x);
  device_moments(launch, x.const_data_ptr(),
                 {.parts = parts.mutable_data_ptr<float>(),
                  .weight = state.weight.const_data_ptr<float>(),
                  .bias = state.bias.const_data_ptr<float>(),
                  .running_mean = state.running_mean.mutable_data_ptr<float>(),
                  .running_var = state.running_var.mutable_data_ptr<float>(),
                  .momentum = state.momentum,
                  .epsilon = state.epsilon,
                  .table = table.mutable_data_ptr<float>()});
  return table;
}

void gpu_normalise(const torch::Tensor& x, const torch::Tensor& residual, const torch::Tensor& table, const Plan& plan,
                   torch::Tensor& y) {
  device_normalise(launch_of({x, residual, y}), {.x = x.const_data_ptr(),
                                                 .inner = plan.inner ? data_of(residual) : nullptr,
                                                 .outer = plan.inner ? nullptr : data_of(residual),
                                                 .y = y.mutable_data_ptr(),
                                                 .coefficients = coefficients_of(table),
                                                 .activation = plan.activation});
}

void gpu_gradients(const Saved& saved, const torch::Tensor& dy, Gradients& result) {
  const torch::Tensor &x = saved.x, &y = saved.y;
  const bool has_g = y.defined();
  const NormLaunch launch = launch_of({x, dy, y, has_g ? result.g : torch::Tensor(), result.dx});
  const torch::Tensor parts = workspace_of(launch, x);
  const torch::Tensor slopes = torch::empty({2, x.size(1)}, parts.options());
  NormBackward pass{.x = x.const_data_ptr(),
                    .dy = dy.const_data_ptr(),
                    .y = data_of(y),
                    .g = has_g ? result.g.mutable_data_ptr() : nullptr,
                    .dx = result.dx.mutable_data_ptr(),
                    .coefficients = coefficients_of(saved.table),
                    .activation = saved.activation};
  device_sum_gradients(launch, pass,
                       {.parts = parts.mutable_data_ptr<float>(),
                        .table = saved.table.const_data_ptr<float>(),
                        .dweight = result.dweight.mutable_data_ptr<float>(),
                        .dbias = result.dbias.mutable_data_ptr<float>(),
                        .coefficients = slopes.mutable_data_ptr<float>()});
  pass.coefficients.slope = slopes.const_data_ptr<float>();
  pass.coefficients.offset = slopes.const_data_ptr<float>() + x.size(1);
  if (has_g) {
    pass.dy = pass.g;
    pass.y = nullptr;
    pass.activation = Activation::kNone;
  }
  device_input_gradient(launch, pass);
}

}  // namespace unstarve::fused_norm
