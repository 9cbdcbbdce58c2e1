#include "unstarve/infer/onnx/read_onnx.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "unstarve/core/error.h"
#include "unstarve/infer/graph/infer_type.h"
#include "unstarve/infer/graph/normalisation_text.h"
#include "unstarve/infer/graph/unsupported.h"
#include "unstarve/infer/graph/verify.h"
#include "unstarve/infer/onnx/external_data.h"
#include "unstarve/infer/onnx/nodes.h"
#include "unstarve/infer/onnx/onnx_fields.h"
#include "unstarve/infer/onnx/shape_nodes.h"

namespace unstarve::infer {
namespace {

std::optional<Normalisation> normalisation_of(const ProtoModel& model) {
  const auto found = model.metadata.find(kNormalisationKey);
  if (found == model.metadata.end()) return std::nullopt;
  return parse_normalisation(found->second);
}

class OnnxReader {
 public:
  OnnxReader(const ProtoModel& model, const ReadOptions& options)
      : model_(model), options_(options), external_(options.folder) {}

  Graph run() {
    check_opset();
    if (!model_.name.empty()) graph_.name = model_.name;
    graph_.normalisation = normalisation_of(model_);
    for (const ProtoTensor& tensor : model_.initializers) add_constant(tensor.name, initializer(tensor));
    const std::vector<ReadNode> nodes = read_nodes();
    for (const ProtoInput& input : model_.inputs)
      if (!values_.contains(input.name)) define(input.name, graph_.add_input(std::string(input.name), type_of(input)));
    for (const ReadNode& node : nodes) node.typed ? add_node(*node.proto, *node.typed) : compute_shape(*node.proto);
    for (const std::string_view output : model_.outputs) graph_.outputs.push_back(value("an output", output));
    graph_.remove_unused();
    if (const std::string wrong = violation(graph_); !wrong.empty()) throw Error(ErrorKind::kInput, wrong);
    return std::move(graph_);
  }

 private:
  struct ReadNode {
    const ProtoNode* proto;
    std::optional<TypedNode> typed;  // nothing: it computes a shape
  };

  void check_opset() const {
    const auto found = model_.opsets.find("");
    const std::int64_t version = found == model_.opsets.end() ? 0 : found->second;
    if (version < onnx::kOldestOpset || version > onnx::kNewestOpset)
      throw Error(ErrorKind::kInput,
                  fmt::format("found opset {}; expected {} to {}. Convert it with onnx.version_converter", version,
                              onnx::kOldestOpset, onnx::kNewestOpset));
  }

  void define(std::string_view name, ValueId id) {
    if (name.empty()) throw Error(ErrorKind::kInput, "found a value without a name; expected one");
    if (!values_.emplace(name, id).second)
      throw Error(ErrorKind::kInput, fmt::format("'{}' is defined twice; expected unique names", name));
  }
  void add_constant(std::string_view name, Tensor tensor) {
    define(name, graph_.add_constant(std::string(name), std::move(tensor)));
  }
  ValueId value(std::string_view reader, std::string_view name) const {
    const auto found = values_.find(name);
    if (found == values_.end())
      throw Error(ErrorKind::kInput, fmt::format("{} is '{}', which is not computed before; expected an input, a "
                                                 "constant or the first output of an earlier node",
                                                 reader, name));
    return found->second;
  }

  Tensor initializer(const ProtoTensor& tensor) {
    if (!tensor.external) return tensor_of(tensor);
    ProtoTensor loaded = tensor;
    loaded.raw = external_.bytes_of(tensor);
    return tensor_of(loaded);
  }

  // Defines Constant nodes and converts all others.
  std::vector<ReadNode> read_nodes() {
    std::vector<ReadNode> result;
    UnsupportedOperators unsupported;
    const auto collect = [&](const ProtoNode& node, auto&& convert) {
      try {
        convert();
      } catch (const UnsupportedForm& form) {
        const std::string domain = node.domain.empty() ? "" : std::string(node.domain) + "::";
        unsupported.add(domain + std::string(node.op) + form.reason, std::string(node.label()));
      }
    };
    const auto is_constant = [](const ProtoNode& node) { return node.op == "Constant" && node.domain.empty(); };
    for (const ProtoNode& node : model_.nodes)
      if (is_constant(node)) {
        collect(node, [&] {
          Tensor tensor = constant_of(node);
          add_constant(node.outputs[0], std::move(tensor));
        });
      }
    const FindConstant find = [&](std::string_view name) { return constant(name); };
    const IsComputedShape computed = [&](std::string_view name) { return shapes_.computes(name); };
    for (const ProtoNode& node : model_.nodes) {
      if (is_constant(node)) continue;
      collect(node, [&] {
        if (shapes_.claim(node))
          result.push_back({&node, std::nullopt});
        else
          result.push_back({&node, typed_node(node, find, computed)});
      });
    }
    unsupported.check();
    return result;
  }

  // Null: there is no constant of this name.
  const Tensor* constant(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : graph_.value(found->second).constant.get();
  }

  void compute_shape(const ProtoNode& proto) {
    const std::string label = fmt::format("node '{}' ({})", proto.label(), proto.op);
    Shape input;
    if (proto.op == "Shape") input = graph_.value(value(label + ": input 0", proto.inputs[0])).type.shape;
    with_node(label, [&] { shapes_.compute(proto, input); });
  }

  // Adds the node to errors of `body`.
  template <class Body>
  static void with_node(const std::string& label, Body&& body) {
    try {
      body();
    } catch (const Error& error) {
      throw Error(error.kind(), label + ": " + error.what());
    }
  }

  TensorType type_of(const ProtoInput& input) const {
    const std::optional<ElementType> element = element_type_of(input.type);
    if (!element || !input.has_shape)
      throw Error(ErrorKind::kInput,
                  fmt::format("input '{}' has {}; expected a tensor of a supported type with a shape", input.name,
                              element ? "no shape" : "an unsupported type"));
    TensorType type{*element, {}};
    for (std::size_t i = 0; i < input.dims.size(); ++i) type.shape.push_back(length_of(input, i));
    if (!is_possible(type.shape))
      throw Error(ErrorKind::kInput, fmt::format("input '{}' has the shape {}; expected at most 2^40 elements",
                                                 input.name, text_of(type.shape)));
    return type;
  }

  std::int64_t length_of(const ProtoInput& input, std::size_t i) const {
    const ProtoDimension& dimension = input.dims[i];
    const bool image_side = input.dims.size() == 4 && i >= 2;
    if (dimension.length > 0) {
      if (image_side && options_.image_size > 0 && options_.image_size != dimension.length)
        throw Error(ErrorKind::kInput,
                    fmt::format("input '{}' has images of {} pixels; expected the requested {}. Remove --image-size",
                                input.name, dimension.length, options_.image_size));
      if (dimension.length > kLargestDimension)
        throw Error(ErrorKind::kInput, fmt::format("input '{}' has the dimension {}; expected at most 2^31", input.name,
                                                   dimension.length));
      return dimension.length;
    }
    if (i == 0) return kBatch;
    if (image_side && options_.image_size > 0) return options_.image_size;
    throw Error(ErrorKind::kInput,
                fmt::format("dimension {} of input '{}' is open ('{}'); expected a number, because only the batch size "
                            "may be open. {}",
                            i, input.name, dimension.length_name,
                            image_side ? "Pass --image-size" : "Export the model with a fixed size"));
  }

  void add_node(const ProtoNode& proto, const TypedNode& typed) {
    const std::string label(proto.label());
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < typed.inputs; ++i)
      inputs.push_back(value(fmt::format("node '{}' ({}): input {}", label, proto.op, i), proto.inputs[i]));
    Attributes attributes = complete(typed, inputs);
    if (auto* const reshape = std::get_if<ReshapeAttributes>(&attributes);
        reshape != nullptr && shapes_.computes(proto.inputs[1]))
      with_node(fmt::format("node '{}' ({})", label, proto.op),
                [&] { reshape->shape = shapes_.reshape(proto, graph_.value(inputs[0]).type.shape); });
    const ValueId output = graph_.add_node(label, typed.kind, inputs, std::move(attributes));
    graph_.values[output].name = proto.outputs[0];
    define(proto.outputs[0], output);
  }

  // The attributes with what depends on the shapes of inputs.
  Attributes complete(const TypedNode& typed, const std::vector<ValueId>& inputs) const {
    Attributes attributes = typed.attributes;
    const Shape& shape = graph_.value(inputs[0]).type.shape;
    if (auto* const transpose = std::get_if<TransposeAttributes>(&attributes)) {
      if (transpose->order.empty())
        for (std::size_t i = shape.size(); i-- > 0;) transpose->order.push_back(static_cast<std::int64_t>(i));
    }
    if (auto* const conv = std::get_if<ConvAttributes>(&attributes)) {
      const Shape& weights = graph_.value(inputs[1]).type.shape;
      if (conv->window.kernel[0] == 0 && weights.size() == 4) conv->window.kernel = {weights[2], weights[3]};
      pad_same(conv->window, typed.auto_pad, shape);
    }
    if (auto* const pool = std::get_if<PoolAttributes>(&attributes)) pad_same(pool->window, typed.auto_pad, shape);
    return attributes;
  }

  static void pad_same(Window& window, AutoPad auto_pad, const Shape& shape) {
    if (auto_pad == AutoPad::kNone || shape.size() != 4) return;
    const auto accepted = [](std::int64_t number) { return number >= 1 && number <= kLargestWindow; };
    for (const std::size_t i : {0, 1}) {
      const std::int64_t input = shape[i + 2], stride = window.strides[i];
      if (!accepted(stride) || !accepted(window.kernel[i]) || !accepted(window.dilations[i]))
        return;  // infer_type() rejects it
      const std::int64_t outputs = (input + stride - 1) / stride;
      const std::int64_t extent = (window.kernel[i] - 1) * window.dilations[i] + 1;
      const std::int64_t total = std::max<std::int64_t>(0, (outputs - 1) * stride + extent - input);
      const std::int64_t less = total / 2, more = total - less;
      window.pads[i] = auto_pad == AutoPad::kSameUpper ? less : more;
      window.pads[i + 2] = auto_pad == AutoPad::kSameUpper ? more : less;
    }
  }

  const ProtoModel& model_;
  const ReadOptions& options_;
  Graph graph_;
  std::map<std::string_view, ValueId> values_;
  ExternalData external_;
  ShapeNodes shapes_{[this](std::string_view name) { return constant(name); }};
};

// Adds the name of the file to errors of `read`.
template <class Read>
auto with_origin(const std::string& origin, Read&& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("read '{}': {}", origin, error.what()));
  }
}

}  // namespace

Graph read_onnx(std::span<const std::uint8_t> file, const std::string& origin, const ReadOptions& options) {
  return with_origin(origin, [&] { return OnnxReader(parse_proto(file), options).run(); });
}

Graph read_onnx_file(const std::filesystem::path& path, std::int64_t image_size) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  return read_onnx(MappedFile(path).bytes(), path.string(), {image_size, folder});
}

std::optional<Normalisation> read_onnx_normalisation(std::span<const std::uint8_t> file, const std::string& origin) {
  return with_origin(origin, [&] { return normalisation_of(parse_proto(file)); });
}

}  // namespace unstarve::infer
