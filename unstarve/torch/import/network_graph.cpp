#include "unstarve/torch/import/network_graph.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include "unstarve/models/weights.h"
#include "unstarve/torch/import/script_graph.h"

namespace unstarve {
namespace {

std::string first_line_of(const char* text) {
  const std::string all = text;
  return all.substr(0, all.find('\n'));
}

// The tracer accepts no constants that require gradients.
class WithoutGradients {
 public:
  explicit WithoutGradients(const Network& network) {
    for (torch::Tensor& parameter : network.parameters()) {
      if (!parameter.requires_grad()) continue;
      trained_.push_back(parameter);
      parameter.set_requires_grad(false);
    }
  }
  ~WithoutGradients() {
    for (torch::Tensor& parameter : trained_) parameter.set_requires_grad(true);
  }
  WithoutGradients(const WithoutGradients&) = delete;
  WithoutGradients& operator=(const WithoutGradients&) = delete;

 private:
  std::vector<torch::Tensor> trained_;
};

}  // namespace

infer::TensorType image_batch(std::int64_t image_size) {
  return {infer::ElementType::kFloat32, {infer::kBatch, 3, image_size, image_size}};
}

Error images_too_small(std::int64_t image_size, const c10::Error& error) {
  return {ErrorKind::kInput, fmt::format("found images of {} x {} pixels, which the network cannot process ({}); "
                                         "expected images of another size",
                                         image_size, image_size, first_line_of(error.what_without_backtrace()))};
}

infer::Graph graph_of_network(Network& network, std::int64_t image_size) {
  infer::TensorNames names;
  for (const StateEntry& entry : network_state(network)) names.emplace(entry.tensor.data_ptr(), entry.name);
  const WithoutGradients without_gradients(network);
  const torch::NoGradGuard no_grad;
  network.eval();
  const torch::Tensor images = torch::zeros({2, 3, image_size, image_size});
  std::shared_ptr<torch::jit::Graph> script;
  try {
    script = torch::jit::tracer::trace(
                 {images},
                 [&](torch::jit::Stack inputs) -> torch::jit::Stack { return {network.forward(inputs[0].toTensor())}; },
                 [](const torch::autograd::Variable&) { return std::string(); }, /*strict=*/true,
                 /*force_outplace=*/true)
                 .first->graph;
  } catch (const c10::Error& error) {
    throw images_too_small(image_size, error);
  }
  return infer::graph_of(*script, image_batch(image_size), names);
}

}  // namespace unstarve
