#pragma once
// Converts a node of an ONNX file to a typed operator.

#include <functional>
#include <string>
#include <string_view>

#include "unstarve/infer/graph/operators.h"
#include "unstarve/infer/onnx/proto.h"

namespace unstarve::infer {

enum class AutoPad : std::uint8_t {
  kNone,
  kSameUpper,  // the size of the output is that of the input, divided by the stride; odd padding at the end
  kSameLower,  // odd padding at the beginning
};

struct TypedNode {
  OpKind kind = OpKind::kIdentity;
  Attributes attributes{};
  std::size_t inputs = 0;  // the first ones; the others are attributes now
  AutoPad auto_pad = AutoPad::kNone;
};

// A form of an operator that the graph cannot express. `reason` follows the name of the operator.
struct UnsupportedForm {
  std::string reason;
};

// The constant of that name; null: none.
using FindConstant = std::function<const Tensor*(std::string_view name)>;
// Whether the value is a shape that other nodes compute (shape_nodes.h).
using IsComputedShape = std::function<bool(std::string_view name)>;

// Throws UnsupportedForm. The kernel of a Conv may be 0: that of its weights; the order of a Transpose may be empty:
// reversed; the shape of a Reshape may be empty: computed.
[[nodiscard]] TypedNode typed_node(const ProtoNode& node, const FindConstant& constant,
                                   const IsComputedShape& computed);
// Of a node "Constant". Throws UnsupportedForm, or Error as tensor_of().
[[nodiscard]] Tensor constant_of(const ProtoNode& node);

}  // namespace unstarve::infer
