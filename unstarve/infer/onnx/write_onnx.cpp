#include "unstarve/infer/onnx/write_onnx.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>

#include "unstarve/core/error.h"
#include "unstarve/core/version.h"
#include "unstarve/infer/graph/normalisation_text.h"
#include "unstarve/infer/onnx/onnx_fields.h"
#include "unstarve/storage/bytes/wire_writer.h"

namespace unstarve::infer {
namespace {

using Integers = std::vector<std::int64_t>;

std::int64_t code_of(ElementType type) {
  return std::ranges::find(onnx::kElementCodes, type, &std::pair<ElementType, std::int64_t>::first)->second;
}

WireWriter tensor_message(const std::string& name, const Tensor& tensor) {
  WireWriter message;
  for (const std::int64_t dimension : tensor.type.shape) message.integer(onnx::tensor::kDims, dimension);
  message.integer(onnx::tensor::kType, code_of(tensor.type.element));
  message.bytes(onnx::tensor::kName, name);
  message.bytes(onnx::tensor::kRaw, std::span(tensor.bytes));
  return message;
}

WireWriter value_message(const Value& value) {
  WireWriter shape;
  for (const std::int64_t length : value.type.shape) {
    WireWriter dimension;
    if (length == kBatch) {
      dimension.bytes(onnx::type::kLengthName, std::string_view("batch"));
    } else {
      dimension.integer(onnx::type::kLength, length);
    }
    shape.message(onnx::type::kDimension, dimension);
  }
  WireWriter tensor, type, message;
  tensor.integer(onnx::type::kElement, code_of(value.type.element));
  tensor.message(onnx::type::kShape, shape);
  type.message(onnx::type::kTensor, tensor);
  message.bytes(onnx::value_info::kName, value.name);
  message.message(onnx::value_info::kType, type);
  return message;
}

using Scalars = std::map<std::uint32_t, std::string>;  // names of the scalar constants written so far, by their bits

// One node, and the constants that ONNX requires for its attributes.
class NodeWriter {
 public:
  NodeWriter(const Graph& graph, const Node& node, Scalars& scalars, WireWriter& graph_message)
      : graph_(graph), node_(node), scalars_(scalars), graph_message_(graph_message) {}

  void write() {
    Attributes attributes = node_.attributes;
    auto* const pool = std::get_if<PoolAttributes>(&attributes);
    const std::optional<Integers> pads = pool != nullptr ? separate_pads(*pool) : std::nullopt;
    if (pads) {
      message_.bytes(onnx::node::kInput, padded(*pads));
      pool->window.pads = {};
      pool->count_pads = false;
    } else {
      for (const ValueId id : node_.inputs) message_.bytes(onnx::node::kInput, graph_.value(id).name);
    }
    std::visit([&](const auto& of) { add(of); }, attributes);
    message_.bytes(onnx::node::kOutput, graph_.value(node_.output).name);
    message_.bytes(onnx::node::kName, node_.name);
    message_.bytes(onnx::node::kOpType, name_of(node_.kind));
    graph_message_.message(onnx::graph::kNode, message_);
  }

 private:
  WireWriter& begin(const char* name, std::int64_t type) {
    attribute_ = {};
    attribute_.bytes(onnx::attribute::kName, std::string_view(name));
    attribute_.integer(onnx::attribute::kType, type);
    return attribute_;
  }
  void end() { message_.message(onnx::node::kAttribute, attribute_); }
  void integer(const char* name, std::int64_t value) {
    begin(name, onnx::attribute::kTypeInteger).integer(onnx::attribute::kInteger, value);
    end();
  }
  void number(const char* name, float value) {
    begin(name, onnx::attribute::kTypeFloat).float32(onnx::attribute::kFloat, value);
    end();
  }
  void text(const char* name, std::string_view value) {
    begin(name, onnx::attribute::kTypeText).bytes(onnx::attribute::kText, value);
    end();
  }
  template <class Range>
  void integers(const char* name, const Range& values) {
    WireWriter& attribute = begin(name, onnx::attribute::kTypeIntegers);
    for (const std::int64_t value : values) attribute.integer(onnx::attribute::kIntegers, value);
    end();
  }
  // A constant as the next input.
  void constant(const char* suffix, const Tensor& tensor) {
    message_.bytes(onnx::node::kInput, stored(suffix, tensor));
  }
  // Returns the name of the constant.
  std::string stored(const char* suffix, const Tensor& tensor) {
    std::string name = graph_.unique_name(graph_.value(node_.output).name + suffix);
    graph_message_.message(onnx::graph::kInitializer, tensor_message(name, tensor));
    return name;
  }
  void no_constant() { message_.bytes(onnx::node::kInput, std::string_view()); }
  // A scalar of the type of the node's first input.
  void scalar(const char* suffix, float value) {
    const ElementType type = graph_.value(node_.inputs[0]).type.element;
    if (type != ElementType::kFloat32)
      throw Error(ErrorKind::kInput, fmt::format("write ONNX: node '{}' ({}) reads {}; expected float32", node_.name,
                                                 name_of(node_.kind), name_of(type)));
    std::string& name = scalars_[std::bit_cast<std::uint32_t>(value)];
    if (name.empty()) name = stored(suffix, make_tensor({}, std::vector<float>{value}));
    message_.bytes(onnx::node::kInput, name);
  }

  // Attributes that equal the default of ONNX are left out, except kernel_shape, which some readers expect.
  void integer_unless(std::int64_t default_value, const char* name, std::int64_t value) {
    if (value != default_value) integer(name, value);
  }
  template <class Range>
  void integers_unless(std::int64_t default_value, const char* name, const Range& values) {
    if (!std::ranges::all_of(values, [&](std::int64_t value) { return value == default_value; }))
      integers(name, values);
  }

  // The padding of an average whose padding counts and whose last windows exceed the padded images, as
  // PadAttributes::pads; nothing for other pools. OpenVINO 2026.4 divides the sums of such windows by wrong numbers if
  // the padding is a part of the pool.
  [[nodiscard]] std::optional<Integers> separate_pads(const PoolAttributes& of) const {
    const auto& [kernel, strides, dilations, pads] = of.window;
    if (node_.kind != OpKind::kAveragePool || !of.ceil || !of.count_pads || pads == std::array<std::int64_t, 4>{})
      return std::nullopt;
    Integers result{0, 0, pads[0], pads[1], 0, 0};
    bool exceeds = false;
    for (const std::size_t i : {0, 1}) {
      const std::int64_t input = graph_.value(node_.inputs[0]).type.shape[i + 2] + pads[i];
      const std::int64_t end = (graph_.value(node_.output).type.shape[i + 2] - 1) * strides[i] + kernel[i];
      exceeds |= end > input + pads[i + 2];
      // Padding that no window reads is left out: with it, another window would begin there.
      result.push_back(std::min(end - input, pads[i + 2]));
      if (result.back() < 0) return std::nullopt;
    }
    return exceeds ? std::optional(result) : std::nullopt;
  }
  // Writes a node that pads the first input with zeros. Returns the name of its output.
  std::string padded(const Integers& pads) {
    std::string name = graph_.unique_name(graph_.value(node_.output).name + ".padded");
    WireWriter node;
    node.bytes(onnx::node::kInput, graph_.value(node_.inputs[0]).name);
    node.bytes(onnx::node::kInput, stored(".pads", make_tensor({std::ssize(pads)}, pads)));
    node.bytes(onnx::node::kOutput, name);
    node.bytes(onnx::node::kName, node_.name + ".pad");
    node.bytes(onnx::node::kOpType, name_of(OpKind::kPad));
    graph_message_.message(onnx::graph::kNode, node);
    return name;
  }

  void window(const Window& of) {
    integers("kernel_shape", of.kernel);
    integers_unless(1, "strides", of.strides);
    integers_unless(0, "pads", of.pads);
  }

  void add(std::monostate) {}
  void add(const ConvAttributes& of) {
    window(of.window);
    integers_unless(1, "dilations", of.window.dilations);
    integer_unless(1, "group", of.groups);
  }
  void add(const PoolAttributes& of) {
    window(of.window);
    integer_unless(0, "ceil_mode", of.ceil ? 1 : 0);
    if (node_.kind == OpKind::kMaxPool) {
      integers_unless(1, "dilations", of.window.dilations);
    } else {
      integer_unless(0, "count_include_pad", of.count_pads ? 1 : 0);
    }
  }
  void add(const NormAttributes& of) { number("epsilon", of.epsilon); }
  void add(const ClipAttributes& of) {
    if (std::isinf(of.low)) {
      no_constant();
    } else {
      scalar(".min", of.low);
    }
    if (!std::isinf(of.high)) scalar(".max", of.high);
  }
  void add(const HardSigmoidAttributes& of) {
    number("alpha", of.alpha);
    number("beta", of.beta);
  }
  void add(const ReduceAttributes& of) {
    if (!of.axes.empty()) integers("axes", of.axes);
    integer("keepdims", of.keep ? 1 : 0);
  }
  void add(const AxisAttributes& of) {
    if (node_.kind == OpKind::kQuantizeLinear || node_.kind == OpKind::kDequantizeLinear) {
      integer_unless(1, "axis", of.axis);
    } else {
      integer("axis", of.axis);
    }
  }
  void add(const ReshapeAttributes& of) {
    constant(".shape", make_tensor({static_cast<std::int64_t>(of.shape.size())}, of.shape));
  }
  void add(const TransposeAttributes& of) { integers("perm", of.order); }
  void add(const PadAttributes& of) {
    constexpr std::array<std::string_view, 3> kModes{"constant", "reflect", "edge"};
    constant(".pads", make_tensor({static_cast<std::int64_t>(of.pads.size())}, of.pads));
    if (of.mode == PadMode::kConstant) scalar(".value", of.value);
    text("mode", kModes[static_cast<std::size_t>(of.mode)]);
  }
  void add(const GemmAttributes& of) {
    number("alpha", of.alpha);
    number("beta", of.beta);
    integer("transA", of.transpose_a ? 1 : 0);
    integer("transB", of.transpose_b ? 1 : 0);
  }
  void add(const CastAttributes& of) { integer("to", code_of(of.to)); }

  const Graph& graph_;
  const Node& node_;
  Scalars& scalars_;
  WireWriter& graph_message_;
  WireWriter message_, attribute_;
};

}  // namespace

std::string format_onnx(const Graph& graph) {
  constexpr auto kMostBytes = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
  if (graph.constant_bytes() > kMostBytes)
    throw Error(ErrorKind::kInput, fmt::format("write ONNX: the model has {} bytes of weights; expected at most {}",
                                               graph.constant_bytes(), kMostBytes));
  WireWriter message;
  message.bytes(onnx::graph::kName, graph.name);
  Scalars scalars;
  for (const Node& node : graph.nodes) NodeWriter(graph, node, scalars, message).write();
  for (const Value& value : graph.values)
    if (value.constant) message.message(onnx::graph::kInitializer, tensor_message(value.name, *value.constant));
  for (const ValueId id : graph.inputs) message.message(onnx::graph::kInput, value_message(graph.value(id)));
  for (const ValueId id : graph.outputs) message.message(onnx::graph::kOutput, value_message(graph.value(id)));

  WireWriter opset, model;
  opset.bytes(onnx::opset::kDomain, std::string_view());
  opset.integer(onnx::opset::kVersion, onnx::kWrittenOpset);
  model.integer(onnx::model::kIrVersion, onnx::kIrVersion);
  model.bytes(onnx::model::kProducer, std::string_view("unstarve"));
  model.bytes(onnx::model::kProducerVersion, std::string_view(kVersion));
  model.message(onnx::model::kGraph, message);
  model.message(onnx::model::kOpset, opset);
  if (graph.normalisation) {
    WireWriter entry;
    entry.bytes(onnx::entry::kKey, std::string_view(kNormalisationKey));
    entry.bytes(onnx::entry::kValue, std::string_view(text_of(*graph.normalisation)));
    model.message(onnx::model::kMetadata, entry);
  }
  if (std::string text = model.text(); text.size() <= kMostBytes) return text;
  throw Error(ErrorKind::kInput,
              fmt::format("write ONNX: the file has {} bytes; expected at most {}", model.text().size(), kMostBytes));
}

}  // namespace unstarve::infer
