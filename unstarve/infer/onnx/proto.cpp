#include "unstarve/infer/onnx/proto.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "unstarve/core/error.h"
#include "unstarve/infer/onnx/onnx_fields.h"
#include "unstarve/infer/onnx/wire.h"

namespace unstarve::infer {
namespace {

class ProtoParser {
 public:
  explicit ProtoParser(std::span<const std::uint8_t> file) : file_(file) {}

  ProtoModel run() {
    bool has_graph = false;
    each(file_, [&](const WireField& field) {
      switch (field.number) {
        case onnx::model::kGraph:
          has_graph = true;
          graph(message_in(field));
          break;
        case onnx::model::kOpset: opset(message_in(field)); break;
        case onnx::model::kMetadata: {
          const auto [key, value] = entry(message_in(field));
          model_.metadata[key] = value;
          break;
        }
        default: break;
      }
    });
    if (!has_graph) throw Error(ErrorKind::kInput, "found no graph; expected an ONNX model");
    return std::move(model_);
  }

 private:
  template <class Visit>
  void each(std::span<const std::uint8_t> message, Visit&& visit) const {
    WireReader reader(message, {"ONNX model", file_.data()});
    for (WireField field; reader.next(field);) visit(field);
  }

  void opset(std::span<const std::uint8_t> message) {
    std::string_view domain;
    std::int64_t version = 0;
    each(message, [&](const WireField& field) {
      if (field.number == onnx::opset::kDomain) domain = text_in(field);
      if (field.number == onnx::opset::kVersion) version = integer_in(field);
    });
    model_.opsets[domain == "ai.onnx" ? std::string_view() : domain] = version;
  }

  std::pair<std::string_view, std::string_view> entry(std::span<const std::uint8_t> message) const {
    std::string_view key, value;
    each(message, [&](const WireField& field) {
      if (field.number == onnx::entry::kKey) key = text_in(field);
      if (field.number == onnx::entry::kValue) value = text_in(field);
    });
    return {key, value};
  }

  void graph(std::span<const std::uint8_t> message) {
    each(message, [&](const WireField& field) {
      switch (field.number) {
        case onnx::graph::kNode: model_.nodes.push_back(node(message_in(field))); break;
        case onnx::graph::kName: model_.name = text_in(field); break;
        case onnx::graph::kInitializer: model_.initializers.push_back(tensor(message_in(field))); break;
        case onnx::graph::kInput: model_.inputs.push_back(value_info(message_in(field))); break;
        case onnx::graph::kOutput: model_.outputs.push_back(value_info(message_in(field)).name); break;
        case onnx::graph::kSparse: throw Error(ErrorKind::kInput, "found sparse weights; expected dense ones");
        default: break;
      }
    });
  }

  ProtoNode node(std::span<const std::uint8_t> message) const {
    ProtoNode result;
    each(message, [&](const WireField& field) {
      switch (field.number) {
        case onnx::node::kInput: result.inputs.push_back(text_in(field)); break;
        case onnx::node::kOutput: result.outputs.push_back(text_in(field)); break;
        case onnx::node::kName: result.name = text_in(field); break;
        case onnx::node::kOpType: result.op = text_in(field); break;
        case onnx::node::kDomain: result.domain = text_in(field); break;
        case onnx::node::kAttribute: {
          auto [name, value] = attribute(message_in(field));
          result.attributes[name] = std::move(value);
          break;
        }
        default: break;
      }
    });
    if (result.domain == "ai.onnx") result.domain = {};
    return result;
  }

  std::pair<std::string_view, ProtoAttribute> attribute(std::span<const std::uint8_t> message) const {
    std::string_view name;
    ProtoAttribute result;
    each(message, [&](const WireField& field) {
      switch (field.number) {
        case onnx::attribute::kName: name = text_in(field); break;
        case onnx::attribute::kFloat: result.number = float_in(field); break;
        case onnx::attribute::kInteger: result.integer = integer_in(field); break;
        case onnx::attribute::kText: result.text = text_in(field); break;
        case onnx::attribute::kTensor: result.tensor = tensor(message_in(field)); break;
        case onnx::attribute::kFloats: append_floats(field, result.floats); break;
        case onnx::attribute::kIntegers: append_integers(field, result.integers); break;
        case onnx::attribute::kReference: result.reference = true; break;
        default: break;
      }
    });
    return {name, std::move(result)};
  }

  ProtoTensor tensor(std::span<const std::uint8_t> message) const {
    ProtoTensor result;
    each(message, [&](const WireField& field) {
      switch (field.number) {
        case onnx::tensor::kDims: append_integers(field, result.dims); break;
        case onnx::tensor::kType: result.type = integer_in(field); break;
        case onnx::tensor::kFloats: append_floats(field, result.floats); break;
        case onnx::tensor::kInt32s: append_integers(field, result.int32s); break;
        case onnx::tensor::kInt64s: append_integers(field, result.int64s); break;
        case onnx::tensor::kName: result.name = text_in(field); break;
        case onnx::tensor::kRaw: result.raw = message_in(field); break;
        case onnx::tensor::kExternal: {
          const auto [key, value] = entry(message_in(field));
          result.external = true;
          result.external_entries[key] = value;
          break;
        }
        case onnx::tensor::kLocation: result.external = result.external || integer_in(field) != 0; break;
        default: break;
      }
    });
    return result;
  }

  ProtoInput value_info(std::span<const std::uint8_t> message) const {
    ProtoInput result;
    each(message, [&](const WireField& field) {
      if (field.number == onnx::value_info::kName) result.name = text_in(field);
      if (field.number != onnx::value_info::kType) return;
      each(message_in(field), [&](const WireField& type) {
        if (type.number == onnx::type::kTensor) tensor_type(message_in(type), result);
      });
    });
    return result;
  }

  void tensor_type(std::span<const std::uint8_t> message, ProtoInput& result) const {
    each(message, [&](const WireField& field) {
      if (field.number == onnx::type::kElement) result.type = integer_in(field);
      if (field.number != onnx::type::kShape) return;
      result.has_shape = true;
      each(message_in(field), [&](const WireField& entry) {
        if (entry.number != onnx::type::kDimension) return;
        ProtoDimension& dimension = result.dims.emplace_back();
        each(message_in(entry), [&](const WireField& part) {
          if (part.number == onnx::type::kLength) dimension.length = integer_in(part);
          if (part.number == onnx::type::kLengthName) dimension.length_name = text_in(part);
        });
      });
    });
  }

  std::span<const std::uint8_t> file_;
  ProtoModel model_;
};

template <class To, class From>
std::vector<std::uint8_t> bytes_of(const std::vector<From>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(To));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const To value = static_cast<To>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(To), &value, sizeof(To));
  }
  return bytes;
}

std::vector<std::uint8_t> typed_bytes(const ProtoTensor& proto, ElementType type) {
  switch (type) {
    case ElementType::kFloat32: return bytes_of<float>(proto.floats);
    case ElementType::kFloat16:
    case ElementType::kBfloat16: return bytes_of<std::uint16_t>(proto.int32s);  // their bits
    case ElementType::kInt8: return bytes_of<std::int8_t>(proto.int32s);
    case ElementType::kUint8: return bytes_of<std::uint8_t>(proto.int32s);
    case ElementType::kInt32: return bytes_of<std::int32_t>(proto.int32s);
    case ElementType::kInt64: return bytes_of<std::int64_t>(proto.int64s);
  }
  return {};
}

}  // namespace

ProtoModel parse_proto(std::span<const std::uint8_t> file) { return ProtoParser(file).run(); }

std::optional<ElementType> element_type_of(std::int64_t code) noexcept {
  for (const auto& [type, number] : onnx::kElementCodes)
    if (number == code) return type;
  return std::nullopt;
}

Tensor tensor_of(const ProtoTensor& proto) {
  const auto fail = [&](const std::string& found, const std::string& expected) {
    return Error(ErrorKind::kInput, fmt::format("constant '{}' {}; expected {}", proto.name, found, expected));
  };
  if (proto.external && !proto.raw) throw fail("is stored in another file", "its value in the node");
  const std::optional<ElementType> type = element_type_of(proto.type);
  if (!type) throw fail(fmt::format("has the type code {}", proto.type), "float, float16, bfloat16, int8 to int64");
  const std::optional<std::int64_t> count = element_count(proto.dims);
  if (!count) throw fail(fmt::format("has the dimensions {}", text_of(proto.dims)), "1 or more each");
  Tensor tensor{{*type, proto.dims}, {}};
  if (proto.raw) {
    tensor.bytes.assign(proto.raw->begin(), proto.raw->end());
  } else {
    tensor.bytes = typed_bytes(proto, *type);
  }
  const std::uint64_t expected = static_cast<std::uint64_t>(*count) * element_bytes(*type);
  if (tensor.bytes.size() != expected)
    throw fail(fmt::format("has {} bytes", tensor.bytes.size()),
               fmt::format("the {} of {}", expected, text_of(tensor.type)));
  return tensor;
}

}  // namespace unstarve::infer
