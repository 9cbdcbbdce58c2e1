#include "unstarve/torch/layer_run.h"

#include <ATen/DeviceAccelerator.h>

#include "unstarve/core/clock.h"
#include "unstarve/torch/common/guards.h"

namespace unstarve {
namespace {

// Passes that a GPU has queued when the host waits for it.
constexpr int kQueuedPasses = 16;

NetworkPtr layer_of(const LayerShape& shape, bool winograd) {
  if (shape.side == 0) return std::make_shared<Linear>(shape.in, shape.out);
  auto conv =
      std::make_shared<Conv>(ConvShape{shape.in, shape.out, shape.kernel, shape.stride, shape.padding, shape.groups});
  conv->use_winograd(winograd);
  return conv;
}

class TorchLayerRun final : public LayerRun {
 public:
  TorchLayerRun(const LayerShape& shape, int batch, const Placement& placement, bool winograd)
      : placement_(placement), layer_(layer_of(shape, winograd)) {
    layer_->to(placement.device);
    const auto options = torch::TensorOptions().device(placement.device).dtype(placement.type);
    if (shape.side == 0) {
      input_ = torch::randn({batch, shape.in}, options);
    } else {
      for (torch::Tensor& weight : layer_->parameters()) weight.set_data(weight.detach().contiguous(placement.format));
      input_ = torch::randn({batch, shape.in, shape.side, shape.side}, options).contiguous(placement.format);
    }
    input_.requires_grad_();
  }

  double passes_per_s(double seconds) override {
    return translate_errors("running a layer", [&] {
      placement_.use();
      const bool queues = !placement_.device.is_cpu();
      const double begin = seconds_now();
      int passes = 0;
      double now = begin;
      do {
        for (int i = 0; i < (queues ? kQueuedPasses : 1); ++i, ++passes) pass();
        if (queues) at::accelerator::synchronizeDevice(placement_.device.index());
        now = seconds_now();
      } while (now < begin + seconds);
      return passes / (now - begin);
    });
  }

 private:
  void pass() {
    torch::Tensor output;
    {
      const AutocastScope autocast(placement_.device.type(), placement_.type);
      output = layer_->forward(input_);
    }
    if (!gradient_.defined()) gradient_ = torch::randn_like(output);
    output.backward(gradient_);
    input_.mutable_grad().reset();
    for (const torch::Tensor& weight : layer_->parameters()) weight.mutable_grad().reset();
  }

  Placement placement_;
  NetworkPtr layer_;
  torch::Tensor input_;
  torch::Tensor gradient_;  // of the outputs
};

}  // namespace

std::vector<LayerShape> layer_shapes_of(const Network& network) {
  std::vector<LayerShape> shapes;
  for (const auto& item : network.named_modules()) {
    if (const auto* const conv = dynamic_cast<const Conv*>(item.value().get())) {
      const ConvShape& of = conv->shape();
      shapes.push_back({item.key(), of.in, of.out, conv->input_height(), of.kernel, of.stride, of.padding, of.groups});
    } else if (const auto* const linear = dynamic_cast<const Linear*>(item.value().get())) {
      shapes.push_back({item.key(), linear->in(), linear->out()});
    }
  }
  return shapes;
}

std::unique_ptr<LayerRun> make_layer_run(const LayerShape& shape, int batch, const Placement& placement,
                                         bool winograd) {
  return std::make_unique<TorchLayerRun>(shape, batch, placement, winograd);
}

}  // namespace unstarve
