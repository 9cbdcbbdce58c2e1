#pragma once
// The values of a TorchScript graph while it is converted to a model graph (script_graph.h): which tensor, constant or
// list each is, the arguments of the node that is converted, and the names of what is added.
//
// Arguments are numbered from 0. A function that finds another kind of argument than its name says throws
// UnsupportedScript, or UnknownInput for the result of an unsupported operator.
//
// Threads: one. Ownership: borrows the script and the names.

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "unstarve/torch/import/script_graph.h"

namespace unstarve::infer {

using Script = const torch::jit::Value*;
using ScriptNode = const torch::jit::Node*;
using Integers = std::vector<std::int64_t>;

// An integer that is the batch size.
inline constexpr std::int64_t kBatchInteger = std::numeric_limits<std::int64_t>::min();

// An operator, or a form of it, that cannot be converted.
struct UnsupportedScript {
  std::string reason;  // follows the name of the operator: " with alpha"
};
// A node that reads the result of such an operator.
struct UnknownInput {};

[[nodiscard]] ElementType element_of(torch::ScalarType type);
// An axis that may count from the last one, as an index.
[[nodiscard]] std::size_t axis_index(std::int64_t number, std::size_t rank);

class ScriptValues {
 public:
  struct Unknown {};  // the result of an unsupported operator
  using Item = std::variant<Unknown, ValueId, c10::IValue, std::vector<Script>>;

  explicit ScriptValues(const TensorNames& names) : names_(names) {}

  [[nodiscard]] Graph& graph() { return graph_; }

  // The node that is converted now.
  [[nodiscard]] ScriptNode node() const { return node_; }
  void begin(ScriptNode node) { node_ = node; }

  // What a value is.
  void set(Script value, Item item) { items_[value] = std::move(item); }
  [[nodiscard]] const Item& item(Script value) const;
  [[nodiscard]] const c10::IValue& constant(Script value) const;
  [[nodiscard]] std::vector<Script>* list(Script value);              // null: not a list that nodes make
  [[nodiscard]] std::optional<ValueId> computed(Script value) const;  // a tensor that is no constant
  [[nodiscard]] ValueId tensor_of(Script value);

  // Arguments of the node.
  [[nodiscard]] std::size_t inputs() const { return node_->inputs().size(); }
  [[nodiscard]] Script in(std::size_t i) const;
  [[nodiscard]] bool is_none(std::size_t i) const;
  [[nodiscard]] bool flag(std::size_t i) const;
  [[nodiscard]] double number(std::size_t i) const;
  [[nodiscard]] std::int64_t integer(std::size_t i) const { return integer_of(in(i)); }
  // `batch`: accepts the batch size, as kBatchInteger.
  [[nodiscard]] Integers integers(std::size_t i, bool batch = false) const;
  // Rows and columns, which may be given as one number.
  [[nodiscard]] std::array<std::int64_t, 2> pair(std::size_t i) const;
  [[nodiscard]] ValueId tensor(std::size_t i) { return tensor_of(in(i)); }
  // A tensor, or a number, which gets the type of `like`. Numbers of float64 are rounded to float32.
  [[nodiscard]] ValueId operand(std::size_t i, ElementType like);
  [[nodiscard]] const TensorType& type(ValueId id) const { return graph_.value(id).type; }

  // Additions to the graph.
  [[nodiscard]] std::string unique(const std::string& name);
  // Of the node: that of its weights ("conv1" of "conv1.weight"), else its kind.
  [[nodiscard]] std::string label() const;
  ValueId add_constant(const std::string& name, Tensor tensor) {
    return graph_.add_constant(unique(name), std::move(tensor));
  }
  ValueId scalar_constant(double value);
  ValueId add(OpKind kind, std::vector<ValueId> inputs, Attributes attributes = {});
  // The result of the node.
  void result(ValueId id) { items_[node_->outputs()[0]] = id; }
  void emit(OpKind kind, std::vector<ValueId> inputs, Attributes attributes = {}) {
    result(add(kind, std::move(inputs), std::move(attributes)));
  }

 private:
  [[nodiscard]] std::int64_t integer_of(Script value, bool batch = false) const;
  [[nodiscard]] std::string name_of_tensor(Script value, const torch::Tensor& tensor) const;

  const TensorNames& names_;
  Graph graph_;
  std::unordered_map<Script, Item> items_;
  std::set<std::string> used_names_;
  ScriptNode node_ = nullptr;
};

}  // namespace unstarve::infer
