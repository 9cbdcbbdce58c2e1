#pragma once
// A model as a graph: nodes over named values.
//
//   value: an input of the model, a constant, or the result of one node
//   node:  an operator, the values it reads and the one it computes
//
// Invariants, which verify.h checks: nodes are in topological order; every value has a unique name and is defined once;
// the types of results are those of infer_type.h. Only the batch size may be unknown (kBatch).
//
// Ownership: values. Constants are immutable and shared by copies of a graph, so a copy is cheap.
// Threads:   as std::vector.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "unstarve/infer/graph/operators.h"
#include "unstarve/infer/graph/tensor.h"
#include "unstarve/ops/store/store_format.h"

namespace unstarve::infer {

using ValueId = std::uint32_t;  // index of Graph::values

// The largest magnitudes that int8 represents of activations, by the names of the values.
using ActivationLimits = std::map<std::string, float>;

struct Value {
  std::string name{};
  TensorType type{};
  std::shared_ptr<const Tensor> constant{};  // null: an input, or computed
};

[[nodiscard]] inline bool is_float32_constant(const Value& value) {
  return value.constant && value.type.element == ElementType::kFloat32;
}

struct Node {
  std::string name{};
  OpKind kind = OpKind::kIdentity;
  Attributes attributes{};
  std::vector<ValueId> inputs{};
  ValueId output = 0;
};

struct Graph {
  std::string name = "model";
  std::vector<Value> values{};
  std::vector<Node> nodes{};
  std::vector<ValueId> inputs{};
  std::vector<ValueId> outputs{};
  // Of a model that was trained for int8 (int8/quantise.h); empty for others. Not part of ONNX files.
  ActivationLimits limits{};
  std::optional<Normalisation> normalisation{};  // of the images in training; nothing: unknown

  // Names must be unique; verify.h checks them.
  ValueId add_input(std::string value_name, TensorType type);
  ValueId add_constant(std::string value_name, Tensor tensor);
  // Appends a node. It has the name of its result, whose type is inferred. Throws as infer_type().
  ValueId add_node(std::string node_name, OpKind kind, std::vector<ValueId> inputs, Attributes attributes = {});

  [[nodiscard]] const Value& value(ValueId id) const { return values[id]; }
  // The name that was requested, with a number if a value has it.
  [[nodiscard]] std::string unique_name(const std::string& requested) const;
  [[nodiscard]] bool is_output(ValueId id) const;
  // For each value, the indices of the nodes that read it; a node that reads it twice is listed twice.
  [[nodiscard]] std::vector<std::vector<std::size_t>> users() const;
  // For each value, the index of the node that computes it; kNoNode: none.
  static constexpr std::size_t kNoNode = static_cast<std::size_t>(-1);
  [[nodiscard]] std::vector<std::size_t> producers() const;
  // Number of values of float constants and of quantised ones, without the scales; bytes of all constants.
  [[nodiscard]] std::int64_t parameters() const;
  [[nodiscard]] std::uint64_t constant_bytes() const;

  // Lets every reader of `from`, and the outputs of the model, read `to` instead.
  void replace_uses(ValueId from, ValueId to);
  // Removes nodes whose results are not used, and values that no node uses; renumbers values. Inputs stay.
  void remove_unused();
};

}  // namespace unstarve::infer
