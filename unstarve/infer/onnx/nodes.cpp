#include "unstarve/infer/onnx/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace unstarve::infer {
namespace {

// The attributes of a node, each of which must be read.
class AttributeReader {
 public:
  AttributeReader(const ProtoNode& node, const FindConstant& constant, const IsComputedShape& computed)
      : node_(node), constant_(constant), computed_(computed) {}

  [[nodiscard]] const ProtoAttribute* find(std::string_view name) {
    const auto found = node_.attributes.find(name);
    if (found == node_.attributes.end()) return nullptr;
    if (found->second.reference) throw UnsupportedForm{" in a function"};
    read_.insert(name);
    return &found->second;
  }
  void ignore(std::string_view name) { (void)find(name); }
  std::int64_t integer(std::string_view name, std::int64_t fallback) {
    const ProtoAttribute* found = find(name);
    return found != nullptr ? found->integer : fallback;
  }
  float number(std::string_view name, float fallback) {
    const ProtoAttribute* found = find(name);
    return found != nullptr ? found->number : fallback;
  }
  std::string_view text(std::string_view name, std::string_view fallback) {
    const ProtoAttribute* found = find(name);
    return found != nullptr ? found->text : fallback;
  }
  std::vector<std::int64_t> integers(std::string_view name) {
    const ProtoAttribute* found = find(name);
    return found != nullptr ? found->integers : std::vector<std::int64_t>();
  }
  // Of two axes, or four sides.
  template <std::size_t N>
  void integers(std::string_view name, std::array<std::int64_t, N>& to) {
    const ProtoAttribute* found = find(name);
    if (found == nullptr) return;
    if (found->integers.size() != N)
      throw UnsupportedForm{fmt::format(" with {} values of {}, not {}", found->integers.size(), name, N)};
    std::ranges::copy(found->integers, to.begin());
  }
  void require(std::string_view name, std::int64_t value) {
    if (const std::int64_t found = integer(name, value); found != value)
      throw UnsupportedForm{fmt::format(" with {}={}", name, found)};
  }

  [[nodiscard]] bool has_input(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  [[nodiscard]] bool shape_is_computed(std::size_t i) const { return has_input(i) && computed_(node_.inputs[i]); }
  // The value of an input that must be constant.
  [[nodiscard]] const Tensor& constant_input(std::size_t i, std::string_view what) const {
    const Tensor* found = has_input(i) ? constant_(node_.inputs[i]) : nullptr;
    if (found == nullptr) throw UnsupportedForm{fmt::format(" whose {} is not constant", what)};
    return *found;
  }
  [[nodiscard]] std::vector<std::int64_t> constant_integers(std::size_t i, std::string_view what) const {
    const Tensor& tensor = constant_input(i, what);
    if (tensor.type.element != ElementType::kInt64) throw UnsupportedForm{fmt::format(" whose {} is not int64", what)};
    return integers_of(tensor);
  }
  // An optional scalar.
  [[nodiscard]] float constant_number(std::size_t i, std::string_view what, float fallback) const {
    if (!has_input(i)) return fallback;
    const Tensor& tensor = constant_input(i, what);
    const std::vector<float> values = is_float(tensor.type.element) ? floats_of(tensor) : std::vector<float>();
    if (values.size() != 1) throw UnsupportedForm{fmt::format(" whose {} is not one float", what)};
    return values[0];
  }
  // Of the leading inputs, which must be given; with `optional` more, which may be.
  std::size_t inputs(std::size_t required, std::size_t optional = 0) const {
    std::size_t count = 0;
    while (count < required + optional && has_input(count)) ++count;
    if (count < required) throw UnsupportedForm{fmt::format(" with {} inputs, not {}", count, required)};
    for (std::size_t i = 0; i < count; ++i)
      if (shape_is_computed(i)) throw UnsupportedForm{" of a computed shape"};
    for (std::size_t i = count; i < node_.inputs.size() && i < required + optional; ++i)
      if (has_input(i)) throw UnsupportedForm{fmt::format(" without input {}", count)};
    return count;
  }
  void check_all_read() const {
    for (const auto& [name, value] : node_.attributes)
      if (!read_.contains(name)) throw UnsupportedForm{fmt::format(" with the attribute {}", name)};
  }
  [[nodiscard]] const ProtoNode& node() const { return node_; }

 private:
  const ProtoNode& node_;
  const FindConstant& constant_;
  const IsComputedShape& computed_;
  std::set<std::string_view> read_;
};

AutoPad read_window(AttributeReader& reader, Window& window) {
  window.kernel = {0, 0};
  reader.integers("kernel_shape", window.kernel);
  reader.integers("strides", window.strides);
  reader.integers("pads", window.pads);
  reader.integers("dilations", window.dilations);
  const std::string_view auto_pad = reader.text("auto_pad", "NOTSET");
  if (auto_pad == "NOTSET") return AutoPad::kNone;
  window.pads = {0, 0, 0, 0};
  if (auto_pad == "VALID") return AutoPad::kNone;
  if (auto_pad == "SAME_UPPER") return AutoPad::kSameUpper;
  if (auto_pad == "SAME_LOWER") return AutoPad::kSameLower;
  throw UnsupportedForm{fmt::format(" with auto_pad={}", auto_pad)};
}

TypedNode read_conv(AttributeReader& reader) {
  ConvAttributes of;
  const AutoPad auto_pad = read_window(reader, of.window);
  of.groups = reader.integer("group", 1);
  return {OpKind::kConv, of, reader.inputs(2, 1), auto_pad};
}

template <OpKind kind>
TypedNode read_pool(AttributeReader& reader) {
  PoolAttributes of;
  const AutoPad auto_pad = read_window(reader, of.window);
  of.ceil = reader.integer("ceil_mode", 0) != 0;
  if (kind == OpKind::kMaxPool) {
    reader.require("storage_order", 0);
  } else {
    of.count_pads = reader.integer("count_include_pad", 0) != 0;
    if (of.window.dilations != std::array<std::int64_t, 2>{1, 1}) throw UnsupportedForm{" with dilations"};
  }
  return {kind, of, reader.inputs(1), auto_pad};
}

TypedNode read_batch_norm(AttributeReader& reader) {
  reader.require("training_mode", 0);
  // Before opset 14, the outputs of the statistics of the batch mean that it normalises by these.
  if (std::ranges::count_if(reader.node().outputs, [](std::string_view name) { return !name.empty(); }) > 1)
    throw UnsupportedForm{" in training mode"};
  reader.ignore("momentum");
  return {OpKind::kBatchNormalization, NormAttributes{reader.number("epsilon", 1e-5F)}, reader.inputs(5)};
}

TypedNode read_clip(AttributeReader& reader) {
  ClipAttributes of;
  of.low = reader.constant_number(1, "lower bound", of.low);
  of.high = reader.constant_number(2, "upper bound", of.high);
  return {OpKind::kClip, of, reader.inputs(1)};
}

TypedNode read_hard_sigmoid(AttributeReader& reader) {
  HardSigmoidAttributes of;
  of.alpha = reader.number("alpha", of.alpha);
  of.beta = reader.number("beta", of.beta);
  return {OpKind::kHardSigmoid, of, reader.inputs(1)};
}

TypedNode read_reduce(AttributeReader& reader) {
  ReduceAttributes of;
  of.axes = reader.has_input(1) ? reader.constant_integers(1, "axes") : reader.integers("axes");  // input: opset 18
  of.keep = reader.integer("keepdims", 1) != 0;
  const bool reduces_nothing = reader.integer("noop_with_empty_axes", 0) != 0 && of.axes.empty();
  if (reduces_nothing) throw UnsupportedForm{" with noop_with_empty_axes and no axes"};
  return {OpKind::kReduceMean, std::move(of), reader.inputs(1)};
}

TypedNode read_reshape(AttributeReader& reader) {
  const bool allows_zero = reader.integer("allowzero", 0) != 0;  // 0 does not mean the dimension of the input
  if (reader.shape_is_computed(1)) return {OpKind::kReshape, ReshapeAttributes{}, reader.inputs(1)};
  std::vector<std::int64_t> shape = reader.constant_integers(1, "shape");
  if (allows_zero && std::ranges::count(shape, 0) > 0) throw UnsupportedForm{" to a shape with a dimension of 0"};
  return {OpKind::kReshape, ReshapeAttributes{std::move(shape)}, reader.inputs(1)};
}

TypedNode read_transpose(AttributeReader& reader) {
  return {OpKind::kTranspose, TransposeAttributes{reader.integers("perm")}, reader.inputs(1)};
}

TypedNode read_concat(AttributeReader& reader) {
  if (reader.find("axis") == nullptr) throw UnsupportedForm{" without axis"};
  return {OpKind::kConcat, AxisAttributes{reader.integer("axis", 0)}, reader.inputs(reader.node().inputs.size())};
}

TypedNode read_pad(AttributeReader& reader) {
  PadAttributes of;
  const std::string_view mode = reader.text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge")
    throw UnsupportedForm{fmt::format(" with mode={}", mode)};
  of.mode = mode == "constant" ? PadMode::kConstant : mode == "reflect" ? PadMode::kReflect : PadMode::kEdge;
  of.pads = reader.constant_integers(1, "padding");
  of.value = reader.constant_number(2, "value", 0);
  if (reader.has_input(3)) throw UnsupportedForm{" with axes"};
  return {OpKind::kPad, of, reader.inputs(1)};
}

TypedNode read_gemm(AttributeReader& reader) {
  return {OpKind::kGemm,
          GemmAttributes{reader.number("alpha", 1), reader.number("beta", 1), reader.integer("transA", 0) != 0,
                         reader.integer("transB", 0) != 0},
          reader.inputs(2, 1)};
}

TypedNode read_dropout(AttributeReader& reader) {
  reader.ignore("seed");
  if (reader.has_input(2)) {
    const Tensor* training = &reader.constant_input(2, "mode");
    if (std::ranges::any_of(training->bytes, [](std::uint8_t byte) { return byte != 0; }))
      throw UnsupportedForm{" in training mode"};
  }
  return {OpKind::kDropout, {}, reader.inputs(1)};
}

TypedNode read_cast(AttributeReader& reader) {
  reader.ignore("saturate");  // of float8
  reader.ignore("round_mode");
  const std::int64_t code = reader.integer("to", 0);
  const std::optional<ElementType> type = element_type_of(code);
  if (!type) throw UnsupportedForm{fmt::format(" to the type code {}", code)};
  return {OpKind::kCast, CastAttributes{*type}, reader.inputs(1)};
}

template <OpKind kind, int required, int optional = 0>
TypedNode read_plain(AttributeReader& reader) {
  return {kind, {}, reader.inputs(required, optional)};
}

template <OpKind kind, int fallback>
TypedNode read_axis(AttributeReader& reader) {
  return {kind, AxisAttributes{reader.integer("axis", fallback)}, reader.inputs(1)};
}

TypedNode read_quantise(AttributeReader& reader) {
  reader.ignore("saturate");  // of float8
  reader.require("block_size", 0);
  reader.require("precision", 0);
  const std::size_t inputs = reader.inputs(2, 1);
  const std::int64_t type = reader.integer("output_dtype", 0);  // with a zero point, that of the zero point
  if (inputs == 2 && type != 0 && element_type_of(type) != ElementType::kUint8)
    throw UnsupportedForm{fmt::format(" to the type code {} without a zero point", type)};
  return {OpKind::kQuantizeLinear, AxisAttributes{reader.integer("axis", 1)}, inputs};
}

TypedNode read_dequantise(AttributeReader& reader) {
  reader.require("block_size", 0);
  if (const std::int64_t type = reader.integer("output_dtype", 0);
      type != 0 && element_type_of(type) != ElementType::kFloat32)
    throw UnsupportedForm{fmt::format(" to the type code {}", type)};
  return {OpKind::kDequantizeLinear, AxisAttributes{reader.integer("axis", 1)}, reader.inputs(2, 1)};
}

struct ReaderRow {
  std::string_view op;
  TypedNode (*read)(AttributeReader& reader);
};
constexpr auto kReaders = std::to_array<ReaderRow>({
    {"Add", read_plain<OpKind::kAdd, 2>},
    {"AveragePool", read_pool<OpKind::kAveragePool>},
    {"BatchNormalization", read_batch_norm},
    {"Cast", read_cast},
    {"Clip", read_clip},
    {"Concat", read_concat},
    {"Conv", read_conv},
    {"DequantizeLinear", read_dequantise},
    {"Div", read_plain<OpKind::kDiv, 2>},
    {"Dropout", read_dropout},
    {"Erf", read_plain<OpKind::kErf, 1>},
    {"Flatten", read_axis<OpKind::kFlatten, 1>},
    {"Gemm", read_gemm},
    {"GlobalAveragePool", read_plain<OpKind::kGlobalAveragePool, 1>},
    {"GlobalMaxPool", read_plain<OpKind::kGlobalMaxPool, 1>},
    {"HardSigmoid", read_hard_sigmoid},
    {"HardSwish", read_plain<OpKind::kHardSwish, 1>},
    {"Identity", read_plain<OpKind::kIdentity, 1>},
    {"MatMul", read_plain<OpKind::kMatMul, 2>},
    {"MaxPool", read_pool<OpKind::kMaxPool>},
    {"Mul", read_plain<OpKind::kMul, 2>},
    {"Pad", read_pad},
    {"QuantizeLinear", read_quantise},
    {"ReduceMean", read_reduce},
    {"Relu", read_plain<OpKind::kRelu, 1>},
    {"Reshape", read_reshape},
    {"Sigmoid", read_plain<OpKind::kSigmoid, 1>},
    {"Softmax", read_axis<OpKind::kSoftmax, -1>},
    {"Sub", read_plain<OpKind::kSub, 2>},
    {"Transpose", read_transpose},
});

}  // namespace

TypedNode typed_node(const ProtoNode& node, const FindConstant& constant, const IsComputedShape& computed) {
  const auto* const row = std::ranges::find(kReaders, node.op, &ReaderRow::op);
  if (row == kReaders.end() || !node.domain.empty()) throw UnsupportedForm{};
  if (node.outputs.empty() || node.outputs[0].empty()) throw UnsupportedForm{" without output"};
  AttributeReader reader(node, constant, computed);
  TypedNode result = row->read(reader);
  reader.check_all_read();
  return result;
}

Tensor constant_of(const ProtoNode& node) {
  if (node.outputs.size() != 1) throw UnsupportedForm{" without output"};
  if (node.attributes.size() != 1) throw UnsupportedForm{" without a value"};
  const auto& [name, value] = *node.attributes.begin();
  if (name == "value" && value.tensor) {
    ProtoTensor named = *value.tensor;
    named.name = node.outputs[0];
    return tensor_of(named);
  }
  if (name == "value_float") return make_tensor({}, std::vector<float>{value.number});
  if (name == "value_int") return make_tensor({}, std::vector<std::int64_t>{value.integer});
  if (name == "value_floats" && !value.floats.empty())
    return make_tensor({static_cast<std::int64_t>(value.floats.size())}, value.floats);
  if (name == "value_ints" && !value.integers.empty())
    return make_tensor({static_cast<std::int64_t>(value.integers.size())}, value.integers);
  throw UnsupportedForm{fmt::format(" with {}", name)};
}

}  // namespace unstarve::infer
