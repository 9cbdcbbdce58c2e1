#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "unstarve/infer/passes/pass.h"

namespace unstarve::infer {
namespace {

// Row-major: the distance of neighbours along each axis of `shape`, in elements.
std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

// Calls visit(offset) for all elements of `shape` in order, where `strides` are those of the array to read.
template <class Visit>
void for_each_offset(const Shape& shape, const std::vector<std::int64_t>& strides, Visit&& visit) {
  std::vector<std::int64_t> index(shape.size(), 0);
  std::int64_t offset = 0;
  for (std::int64_t left = element_count(shape).value_or(0); left > 0; --left) {
    visit(static_cast<std::size_t>(offset));
    for (std::size_t i = shape.size(); i-- > 0;) {
      offset += strides[i];
      if (++index[i] < shape[i]) break;
      offset -= strides[i] * shape[i];
      index[i] = 0;
    }
  }
}

// Of an operand that is broadcast to `shape`: 0 along axes of length 1.
std::vector<std::int64_t> broadcast_strides(const Shape& operand, const Shape& shape) {
  const std::vector<std::int64_t> own = strides_of(operand);
  std::vector<std::int64_t> strides(shape.size(), 0);
  const std::size_t first = shape.size() - operand.size();
  for (std::size_t i = 0; i < operand.size(); ++i) strides[first + i] = operand[i] == 1 ? 0 : own[i];
  return strides;
}

template <class T, class Read>
Tensor arithmetic(OpKind kind, const TensorType& type, const Tensor& a, const Tensor& b, Read read) {
  const std::vector<T> left = read(a), right = read(b);
  std::vector<T> result;
  result.reserve(static_cast<std::size_t>(element_count(type.shape).value_or(0)));
  for_each_offset(type.shape, broadcast_strides(a.type.shape, type.shape),
                  [&](std::size_t i) { result.push_back(left[i]); });
  // Integers wrap around, as in the engines.
  using Wide = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  std::size_t at = 0;
  for_each_offset(type.shape, broadcast_strides(b.type.shape, type.shape), [&](std::size_t i) {
    T& x = result[at++];
    const auto u = static_cast<Wide>(x), v = static_cast<Wide>(right[i]);
    const Wide sum = kind == OpKind::kAdd ? u + v : kind == OpKind::kSub ? u - v : kind == OpKind::kMul ? u * v : u / v;
    x = static_cast<T>(sum);
  });
  return make_tensor(type.shape, result);
}

Tensor transposed(const TensorType& type, const std::vector<std::int64_t>& order, const Tensor& from) {
  const std::vector<std::int64_t> own = strides_of(from.type.shape);
  std::vector<std::int64_t> strides;
  for (const std::int64_t axis : order)
    strides.push_back(own[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(own.size()) : axis)]);
  const std::size_t bytes = element_bytes(type.element);
  Tensor result{type, {}};
  result.bytes.resize(from.bytes.size());
  std::uint8_t* to = result.bytes.data();
  for_each_offset(type.shape, strides, [&](std::size_t i) {
    std::memcpy(to, from.bytes.data() + i * bytes, bytes);
    to += bytes;
  });
  return result;
}

Tensor joined(const TensorType& type, std::size_t axis, const std::vector<const Tensor*>& parts) {
  Tensor result{type, {}};
  std::size_t outer = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(type.shape[i]);
  for (std::size_t i = 0; i < outer; ++i) {
    for (const Tensor* part : parts) {
      const std::size_t bytes = part->bytes.size() / outer;
      const auto begin = part->bytes.begin() + static_cast<std::ptrdiff_t>(i * bytes);
      result.bytes.insert(result.bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(bytes));
    }
  }
  return result;
}

std::optional<Tensor> evaluate(const Graph& graph, const Node& node) {
  std::vector<const Tensor*> inputs;
  for (const ValueId id : node.inputs) inputs.push_back(graph.value(id).constant.get());
  const Tensor& first = *inputs[0];
  const TensorType& type = graph.value(node.output).type;
  switch (node.kind) {
    case OpKind::kIdentity:
    case OpKind::kDropout:
    case OpKind::kFlatten:
    case OpKind::kReshape: return Tensor{type, first.bytes};
    case OpKind::kTranspose: return transposed(type, std::get<TransposeAttributes>(node.attributes).order, first);
    case OpKind::kConcat: {
      const std::int64_t axis = std::get<AxisAttributes>(node.attributes).axis;
      return joined(type,
                    static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(type.shape.size()) : axis),
                    inputs);
    }
    case OpKind::kCast:
      if (type == first.type) return first;
      if (type.element != ElementType::kFloat32 || !is_float(first.type.element)) return std::nullopt;
      return make_tensor(type.shape, floats_of(first));
    case OpKind::kAdd:
    case OpKind::kSub:
    case OpKind::kMul:
    case OpKind::kDiv:
      if (type.element == ElementType::kFloat32)
        return arithmetic<float>(node.kind, type, first, *inputs[1], floats_of);
      if (type.element == ElementType::kInt64 && node.kind != OpKind::kDiv)  // a division by zero stays an error
        return arithmetic<std::int64_t>(node.kind, type, first, *inputs[1], integers_of);
      return std::nullopt;
    default: return std::nullopt;
  }
}

// Whether all inputs are constants and the result is about as large: broadcasting may make a huge one of small ones.
bool is_worth_folding(const Graph& graph, const Node& node) {
  constexpr std::uint64_t kMoreBytes = 1 << 20;
  std::uint64_t bytes = kMoreBytes;
  for (const ValueId id : node.inputs) {
    if (!graph.value(id).constant) return false;
    bytes += graph.value(id).constant->bytes.size();
  }
  const TensorType& type = graph.value(node.output).type;
  const std::optional<std::int64_t> count = element_count(type.shape);
  return count && static_cast<std::uint64_t>(*count) <= bytes / element_bytes(type.element);
}

}  // namespace

PassResult fold_constants(Graph graph) {
  int changed = 0;
  std::vector<Node> kept;
  for (Node& node : graph.nodes) {
    std::optional<Tensor> result = is_worth_folding(graph, node) ? evaluate(graph, node) : std::nullopt;
    if (!result) {
      kept.push_back(std::move(node));
      continue;
    }
    graph.values[node.output].constant = std::make_shared<const Tensor>(std::move(*result));
    ++changed;
  }
  graph.nodes = std::move(kept);
  graph.remove_unused();
  return {std::move(graph), changed};
}

}  // namespace unstarve::infer
