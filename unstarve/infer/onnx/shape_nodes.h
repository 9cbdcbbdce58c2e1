#pragma once
// Shapes that an ONNX file computes by nodes, such as those that PyTorch writes for x.view(x.size(0), -1):
//
//   x ─▶ Shape ─▶ Gather ─▶ Unsqueeze ─▶ Concat with -1 ─▶ Reshape of x
//
// The graph has no such nodes: the values are known when types are, except for the batch size, and become the shape of
// the Reshape.
//
// Threads: one.

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "unstarve/infer/graph/tensor.h"
#include "unstarve/infer/onnx/nodes.h"
#include "unstarve/infer/onnx/proto.h"

namespace unstarve::infer {

class ShapeNodes {
 public:
  // `constant` is called during the calls of this class.
  explicit ShapeNodes(FindConstant constant) : constant_(std::move(constant)) {}

  // For all nodes in the order of the file: whether it computes such values. If so, compute() takes it instead of
  // typed_node(). Throws UnsupportedForm.
  bool claim(const ProtoNode& node);
  // Whether a claimed node has this result.
  [[nodiscard]] bool computes(std::string_view name) const { return values_.contains(name); }

  // For the claimed nodes, in the order of the file. `input`: the shape of the first input of a Shape, else unused.
  // Throws Error(kInput) without the name of the node.
  void compute(const ProtoNode& node, const Shape& input);
  // The shape to which the Reshape `node` brings `from`, in the form of ReshapeAttributes. Precondition: computed.
  // Throws as compute().
  [[nodiscard]] std::vector<std::int64_t> reshape(const ProtoNode& node, const Shape& from) const;

 private:
  struct Integers {
    std::vector<std::optional<std::int64_t>> values{};  // nothing: the batch size
    bool scalar = false;
  };
  [[nodiscard]] Integers input(const ProtoNode& node, std::size_t i) const;
  [[nodiscard]] std::vector<std::int64_t> constants(const ProtoNode& node, std::size_t i) const;

  FindConstant constant_;
  std::map<std::string_view, Integers> values_;
};

}  // namespace unstarve::infer
