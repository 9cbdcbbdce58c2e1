#include "unstarve/torch/networks/node_operators.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "unstarve/core/error.h"

namespace unstarve {
namespace {

using infer::OpKind;
using infer::Window;
using Integers = std::vector<std::int64_t>;
using Tensors = std::vector<torch::Tensor>;

constexpr std::array<std::pair<infer::ElementType, torch::ScalarType>, 7> kElementTypes{
    {{infer::ElementType::kFloat32, torch::kFloat32},
     {infer::ElementType::kFloat16, torch::kFloat16},
     {infer::ElementType::kBfloat16, torch::kBFloat16},
     {infer::ElementType::kInt8, torch::kInt8},
     {infer::ElementType::kUint8, torch::kUInt8},
     {infer::ElementType::kInt32, torch::kInt32},
     {infer::ElementType::kInt64, torch::kInt64}}};

torch::ScalarType scalar_type_of(infer::ElementType type) {
  return std::ranges::find(kElementTypes, type, &std::pair<infer::ElementType, torch::ScalarType>::first)->second;
}

bool is_symmetric(const Window& of) { return of.pads[0] == of.pads[2] && of.pads[1] == of.pads[3]; }

// libtorch begins with the last axis.
torch::Tensor pad_images(const torch::Tensor& x, const Window& of, double value) {
  return torch::constant_pad_nd(x, {of.pads[1], of.pads[3], of.pads[0], of.pads[2]}, value);
}

torch::Tensor conv(const infer::ConvAttributes& of, const Tensors& in) {
  const torch::Tensor bias = in.size() == 3 ? in[2] : torch::Tensor();
  const bool symmetric = is_symmetric(of.window);
  const torch::Tensor x = symmetric ? in[0] : pad_images(in[0], of.window, 0);
  const Integers pads = symmetric ? Integers{of.window.pads[0], of.window.pads[1]} : Integers{0, 0};
  return torch::conv2d(x, in[1], bias, of.window.strides, pads, of.window.dilations, of.groups);
}

// Whether libtorch pads itself; otherwise images are padded before. Throws Error(kInput) if neither is the same.
bool pads_within(const infer::PoolAttributes& of, const infer::Node& node) {
  const bool within = is_symmetric(of.window) && 2 * of.window.pads[0] <= of.window.kernel[0] &&
                      2 * of.window.pads[1] <= of.window.kernel[1];
  if (!within && of.ceil)
    throw Error(ErrorKind::kInput,
                fmt::format("node '{}' ({}): found sizes that are rounded up and pads of two sizes; expected one of "
                            "them, because libtorch has no such pooling",
                            node.name, infer::name_of(node.kind)));
  return within;
}

torch::Tensor max_pool(const infer::Node& node, const torch::Tensor& x) {
  const auto& of = std::get<infer::PoolAttributes>(node.attributes);
  const Window& window = of.window;
  if (pads_within(of, node))
    return torch::max_pool2d(x, window.kernel, window.strides, {window.pads[0], window.pads[1]}, window.dilations,
                             of.ceil);
  const torch::Tensor padded = pad_images(x, window, -std::numeric_limits<double>::infinity());
  return torch::max_pool2d(padded, window.kernel, window.strides, {0, 0}, window.dilations);
}

torch::Tensor average_pool(const infer::Node& node, const torch::Tensor& x) {
  const auto& of = std::get<infer::PoolAttributes>(node.attributes);
  const Window& window = of.window;
  if (pads_within(of, node))
    return torch::avg_pool2d(x, window.kernel, window.strides, {window.pads[0], window.pads[1]}, of.ceil,
                             of.count_pads);
  const auto mean = [&](const torch::Tensor& images) {
    return torch::avg_pool2d(pad_images(images, window, 0), window.kernel, window.strides);
  };
  return of.count_pads ? mean(x) : mean(x) / mean(torch::ones_like(x));
}

torch::Tensor clip(const infer::ClipAttributes& of, const torch::Tensor& x) {
  // Like ReLU6, without gradient at the bounds.
  if (std::isfinite(of.low) && std::isfinite(of.high)) return torch::hardtanh(x, of.low, of.high);
  return torch::clamp(x, of.low, of.high);
}

torch::Tensor hard_sigmoid(const infer::HardSigmoidAttributes& of, const torch::Tensor& x) {
  if (of.alpha == 1.0F / 6 && of.beta == 0.5F) return torch::hardsigmoid(x);
  return (x * of.alpha + of.beta).clamp(0, 1);
}

torch::Tensor flatten(std::int64_t axis, const torch::Tensor& x) {
  if (axis < 0) axis += x.dim();
  if (axis == 1) return x.flatten(1);
  std::int64_t rows = 1;
  for (std::int64_t i = 0; i < axis; ++i) rows *= x.size(i);
  return x.reshape({rows, x.numel() / rows});
}

torch::Tensor reshape(Integers shape, const torch::Tensor& x) {
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == 0) shape[i] = x.size(static_cast<std::int64_t>(i));
  return x.reshape(shape);
}

torch::Tensor pad(const infer::PadAttributes& of, const torch::Tensor& x) {
  const std::size_t rank = of.pads.size() / 2;
  std::size_t first = 0;  // libtorch reflects images along the last two axes only
  while (first < rank && of.pads[first] == 0 && of.pads[first + rank] == 0) ++first;
  Integers pads;
  for (std::size_t i = rank; i-- > first;) {
    pads.push_back(of.pads[i]);
    pads.push_back(of.pads[i + rank]);
  }
  if (pads.empty()) return x;
  if (of.mode == infer::PadMode::kConstant) return torch::constant_pad_nd(x, pads, of.value);
  pads.resize(std::max<std::size_t>(pads.size(), 2 * (rank - 2)), 0);
  return at::pad(x, pads, of.mode == infer::PadMode::kReflect ? "reflect" : "replicate");
}

torch::Tensor gemm(const infer::GemmAttributes& of, const Tensors& in) {
  const bool biased = in.size() == 3;
  const bool is_linear = !of.transpose_a && of.transpose_b && of.alpha == 1 && of.beta == 1;
  if (is_linear && (!biased || in[2].dim() == 1)) return torch::linear(in[0], in[1], biased ? in[2] : torch::Tensor());
  torch::Tensor y = torch::matmul(of.transpose_a ? in[0].t() : in[0], of.transpose_b ? in[1].t() : in[1]);
  if (of.alpha != 1) y = y * of.alpha;
  return biased ? y + in[2] * of.beta : y;
}

// Of quantisation: one number, or one for each index of the axis.
torch::Tensor along_axis(const torch::Tensor& values, std::int64_t axis, std::int64_t rank) {
  if (values.numel() == 1) return values.reshape({});
  Integers shape(static_cast<std::size_t>(rank), 1);
  shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = values.numel();
  return values.reshape(shape);
}

torch::Tensor quantise_linear(std::int64_t axis, const Tensors& in) {
  const torch::Tensor scale = along_axis(in[1], axis, in[0].dim());
  const torch::ScalarType type = in.size() == 3 ? in[2].scalar_type() : torch::kUInt8;
  torch::Tensor levels = (in[0] / scale).round();
  if (in.size() == 3) levels = levels + along_axis(in[2], axis, in[0].dim());
  return type == torch::kInt8 ? levels.clamp(-128, 127).to(type) : levels.clamp(0, 255).to(type);
}

torch::Tensor dequantise_linear(std::int64_t axis, const Tensors& in) {
  torch::Tensor levels = in[0].to(torch::kFloat32);
  if (in.size() == 3) levels = levels - along_axis(in[2], axis, in[0].dim());
  return levels * along_axis(in[1], axis, in[0].dim());
}

}  // namespace

torch::Tensor compute_node(const infer::Node& node, const Tensors& in) {
  const auto axis = [&] { return std::get<infer::AxisAttributes>(node.attributes).axis; };
  switch (node.kind) {
    case OpKind::kConv: return conv(std::get<infer::ConvAttributes>(node.attributes), in);
    case OpKind::kBatchNormalization:
      return torch::batch_norm(in[0], in[1], in[2], in[3], in[4], /*training=*/false, 0,
                               std::get<infer::NormAttributes>(node.attributes).epsilon, /*cudnn_enabled=*/true);
    case OpKind::kRelu: return torch::relu(in[0]);
    case OpKind::kClip: return clip(std::get<infer::ClipAttributes>(node.attributes), in[0]);
    case OpKind::kSigmoid: return torch::sigmoid(in[0]);
    case OpKind::kHardSigmoid: return hard_sigmoid(std::get<infer::HardSigmoidAttributes>(node.attributes), in[0]);
    case OpKind::kHardSwish: return torch::hardswish(in[0]);
    case OpKind::kErf: return torch::erf(in[0]);
    case OpKind::kAdd: return in[0] + in[1];
    case OpKind::kSub: return in[0] - in[1];
    case OpKind::kMul: return in[0] * in[1];
    case OpKind::kDiv: return in[0] / in[1];
    case OpKind::kMaxPool: return max_pool(node, in[0]);
    case OpKind::kAveragePool: return average_pool(node, in[0]);
    case OpKind::kGlobalAveragePool: return torch::adaptive_avg_pool2d(in[0], {1, 1});
    case OpKind::kGlobalMaxPool: return std::get<0>(torch::adaptive_max_pool2d(in[0], {1, 1}));
    case OpKind::kReduceMean: {
      const auto& of = std::get<infer::ReduceAttributes>(node.attributes);
      Integers all(static_cast<std::size_t>(in[0].dim()));
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
      return in[0].mean(of.axes.empty() ? all : of.axes, of.keep);
    }
    case OpKind::kFlatten: return flatten(axis(), in[0]);
    case OpKind::kReshape: return reshape(std::get<infer::ReshapeAttributes>(node.attributes).shape, in[0]);
    case OpKind::kTranspose: return in[0].permute(std::get<infer::TransposeAttributes>(node.attributes).order);
    case OpKind::kConcat: return torch::cat(in, axis());
    case OpKind::kPad: return pad(std::get<infer::PadAttributes>(node.attributes), in[0]);
    case OpKind::kGemm: return gemm(std::get<infer::GemmAttributes>(node.attributes), in);
    case OpKind::kMatMul: return torch::matmul(in[0], in[1]);
    case OpKind::kSoftmax: return torch::softmax(in[0], axis());
    case OpKind::kIdentity:
    case OpKind::kDropout: return in[0];
    case OpKind::kCast: return in[0].to(scalar_type_of(std::get<infer::CastAttributes>(node.attributes).to));
    case OpKind::kQuantizeLinear: return quantise_linear(axis(), in);
    case OpKind::kDequantizeLinear: return dequantise_linear(axis(), in);
  }
  throw Error(ErrorKind::kInternal, fmt::format("node '{}': found an unknown operator; expected one of graph/"
                                                "operators.h",
                                                node.name));
}

torch::Tensor torch_tensor_of(const infer::Tensor& tensor) {
  torch::Tensor result = torch::empty(tensor.type.shape, torch::dtype(scalar_type_of(tensor.type.element)));
  if (!tensor.bytes.empty()) std::memcpy(result.data_ptr(), tensor.bytes.data(), tensor.bytes.size());
  return result;
}

infer::Tensor graph_tensor_of(const torch::Tensor& tensor) {
  const torch::Tensor host = tensor.detach().to(torch::kCPU).contiguous();
  const auto type =
      std::ranges::find(kElementTypes, host.scalar_type(), &std::pair<infer::ElementType, torch::ScalarType>::second);
  if (type == kElementTypes.end())
    throw Error(ErrorKind::kInput, fmt::format("found a tensor of {}; expected a type of model graphs",
                                               torch::toString(host.scalar_type())));
  infer::Tensor result{{type->first, host.sizes().vec()}, std::vector<std::uint8_t>(host.nbytes())};
  if (host.nbytes() > 0) std::memcpy(result.bytes.data(), host.const_data_ptr(), host.nbytes());
  return result;
}

}  // namespace unstarve
