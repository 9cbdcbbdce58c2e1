#pragma once
// The operators of a model graph: a kind and typed attributes. Their meaning is that of the ONNX operators of the same
// name, with what ONNX passes as constant inputs (bounds, shapes, pads) as attributes.
//
// To add an operator: a kind here, its row in operators.cpp, its shape in infer_type.cpp, its rows in onnx/nodes.cpp
// and onnx/write_onnx.cpp, and a row in docs/reference/models.md.

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <variant>
#include <vector>

#include "unstarve/infer/graph/tensor.h"

namespace unstarve::infer {

enum class OpKind : std::uint8_t {
  kConv,
  kBatchNormalization,  // in evaluation: inputs x, scale, shift, mean, variance
  kRelu,
  kClip,
  kSigmoid,
  kHardSigmoid,
  kHardSwish,
  kErf,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMaxPool,
  kAveragePool,
  kGlobalAveragePool,
  kGlobalMaxPool,
  kReduceMean,
  kFlatten,
  kReshape,
  kTranspose,
  kConcat,
  kPad,
  kGemm,
  kMatMul,
  kSoftmax,
  kIdentity,
  kDropout,  // in evaluation: the identity
  kCast,
  kQuantizeLinear,    // inputs x, scale, zero point, whose type is that of the result (none: uint8)
  kDequantizeLinear,  // inputs x, scale, zero point (none: 0)
};
inline constexpr std::size_t kOpKinds = static_cast<std::size_t>(OpKind::kDequantizeLinear) + 1;

// Of a convolution or pooling of images, N x C x H x W: rows, then columns.
struct Window {
  std::array<std::int64_t, 2> kernel{1, 1};
  std::array<std::int64_t, 2> strides{1, 1};
  std::array<std::int64_t, 2> dilations{1, 1};
  std::array<std::int64_t, 4> pads{0, 0, 0, 0};  // top, left, bottom, right
  bool operator==(const Window&) const = default;
};

struct ConvAttributes {
  Window window{};  // the kernel's size is that of the weights
  std::int64_t groups = 1;
};
struct PoolAttributes {
  Window window{};
  bool ceil = false;        // sizes of outputs are rounded up
  bool count_pads = false;  // of an average: padding counts as zeros
};
struct NormAttributes {
  float epsilon = 1e-5F;
};
struct ClipAttributes {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};
struct HardSigmoidAttributes {  // max(0, min(1, alpha * x + beta))
  float alpha = 0.2F;
  float beta = 0.5F;
};
struct ReduceAttributes {
  std::vector<std::int64_t> axes{};  // empty: all
  bool keep = true;                  // reduced axes have length 1 instead of being removed
};
struct AxisAttributes {  // negative: counted from the end
  std::int64_t axis = 0;
};
struct ReshapeAttributes {
  std::vector<std::int64_t> shape{};  // 0: as in the input; one -1: what remains
};
struct TransposeAttributes {
  std::vector<std::int64_t> order{};  // axis i of the result is axis order[i] of the input
};
enum class PadMode : std::uint8_t { kConstant, kReflect, kEdge };
struct PadAttributes {
  std::vector<std::int64_t> pads{};  // before each axis, then after each axis
  PadMode mode = PadMode::kConstant;
  float value = 0;
};
struct GemmAttributes {  // alpha * A * B + beta * C
  float alpha = 1;
  float beta = 1;
  bool transpose_a = false;
  bool transpose_b = false;
};
struct CastAttributes {
  ElementType to = ElementType::kFloat32;
};

using Attributes = std::variant<std::monostate, ConvAttributes, PoolAttributes, NormAttributes, ClipAttributes,
                                HardSigmoidAttributes, ReduceAttributes, AxisAttributes, ReshapeAttributes,
                                TransposeAttributes, PadAttributes, GemmAttributes, CastAttributes>;

struct OpInfo {
  std::string_view name;   // of ONNX
  std::size_t attributes;  // index of the alternative of Attributes
  int least_inputs;
  int most_inputs;
};
[[nodiscard]] const OpInfo& info_of(OpKind kind) noexcept;
[[nodiscard]] inline std::string_view name_of(OpKind kind) noexcept { return info_of(kind).name; }

}  // namespace unstarve::infer
