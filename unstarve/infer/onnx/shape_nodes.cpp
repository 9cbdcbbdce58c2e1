#include "unstarve/infer/onnx/shape_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "unstarve/core/error.h"

namespace unstarve::infer {
namespace {

// Of the values of one node: far more than a tensor has dimensions, and repeated concatenation cannot fill memory.
constexpr std::size_t kMostValues = 64;

constexpr std::array<std::string_view, 7> kMovers{"Cast",    "Concat", "Gather",   "Identity",
                                                  "Squeeze", "Slice",  "Unsqueeze"};

bool has_input(const ProtoNode& node, std::size_t i) { return i < node.inputs.size() && !node.inputs[i].empty(); }

std::int64_t integer(const ProtoNode& node, std::string_view name, std::int64_t fallback) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? fallback : found->second.integer;
}

Error found_instead(const std::string& found, const std::string& expected) {
  return {ErrorKind::kInput, fmt::format("found {} in the computation of a shape; expected {}", found, expected)};
}

// As in ONNX: from the end if negative, then within 0..count.
std::size_t clamped(std::int64_t index, std::size_t count) {
  const auto size = static_cast<std::int64_t>(count);
  return static_cast<std::size_t>(std::clamp<std::int64_t>(index < 0 ? index + size : index, 0, size));
}

}  // namespace

bool ShapeNodes::claim(const ProtoNode& node) {
  const bool computed = std::ranges::any_of(node.inputs, [&](std::string_view name) { return computes(name); });
  if (!node.domain.empty() || (node.op != "Shape" && !(computed && std::ranges::count(kMovers, node.op) > 0)))
    return false;
  if (node.inputs.empty() || node.outputs.empty() || node.outputs[0].empty()) throw UnsupportedForm{" without output"};
  if (node.op == "Shape" && computed) throw UnsupportedForm{" of a shape"};
  if (node.op != "Shape" && node.op != "Concat" && !computes(node.inputs[0]))
    throw UnsupportedForm{" by a computed shape"};
  if (node.op == "Cast" && integer(node, "to", 0) != 7) throw UnsupportedForm{" of a shape to another type than int64"};
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    if (has_input(node, i) && !computes(node.inputs[i]) && constant_(node.inputs[i]) == nullptr)
      throw UnsupportedForm{fmt::format(" of a shape whose input {} is not constant", i)};
  values_[node.outputs[0]];
  return true;
}

std::vector<std::int64_t> ShapeNodes::constants(const ProtoNode& node, std::size_t i) const {
  const Tensor* const found = has_input(node, i) ? constant_(node.inputs[i]) : nullptr;
  if (found == nullptr || found->type.element != ElementType::kInt64 || found->type.shape.size() > 1 ||
      found->bytes.size() > kMostValues * sizeof(std::int64_t))
    throw found_instead(fmt::format("input {} of {}", i, node.op), "some constants of int64");
  return integers_of(*found);
}

ShapeNodes::Integers ShapeNodes::input(const ProtoNode& node, std::size_t i) const {
  if (const auto found = values_.find(node.inputs[i]); found != values_.end()) return found->second;
  Integers result;
  for (const std::int64_t value : constants(node, i)) result.values.emplace_back(value);
  result.scalar = constant_(node.inputs[i])->type.shape.empty();
  return result;
}

void ShapeNodes::compute(const ProtoNode& node, const Shape& shape) {
  Integers result;
  if (node.op == "Shape") {
    const std::size_t begin = clamped(integer(node, "start", 0), shape.size());
    const std::size_t end = clamped(integer(node, "end", static_cast<std::int64_t>(shape.size())), shape.size());
    for (std::size_t i = begin; i < end; ++i)
      result.values.push_back(shape[i] == kBatch ? std::nullopt : std::optional(shape[i]));
  } else if (node.op == "Concat") {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Integers part = input(node, i);
      if (part.scalar) throw found_instead("a Concat of a scalar", "vectors");
      result.values.insert(result.values.end(), part.values.begin(), part.values.end());
    }
  } else {
    const Integers from = input(node, 0);
    const std::size_t count = from.values.size();
    if (node.op == "Gather" || node.op == "Slice") {
      if (from.scalar) throw found_instead(fmt::format("a {} of a scalar", node.op), "a vector");
    }
    if (node.op == "Gather") {
      const std::vector<std::int64_t> indices = constants(node, 1);
      for (const std::int64_t index : indices) {
        const std::int64_t at = index < 0 ? index + static_cast<std::int64_t>(count) : index;
        if (at < 0 || at >= static_cast<std::int64_t>(count))
          throw found_instead(fmt::format("index {}", index), fmt::format("one of {} dimensions", count));
        result.values.push_back(from.values[static_cast<std::size_t>(at)]);
      }
      result.scalar = constant_(node.inputs[1])->type.shape.empty();
    } else if (node.op == "Slice") {
      const std::vector<std::int64_t> begin = constants(node, 1), end = constants(node, 2);
      const std::vector<std::int64_t> steps = has_input(node, 4) ? constants(node, 4) : std::vector<std::int64_t>{1};
      if (begin.size() != 1 || end.size() != 1 || steps != std::vector<std::int64_t>{1})
        throw found_instead("a Slice of several axes or with steps", "one range of dimensions");
      for (std::size_t i = clamped(begin[0], count); i < clamped(end[0], count); ++i)
        result.values.push_back(from.values[i]);
    } else {
      const bool to_scalar = node.op == "Squeeze";
      if (node.op == "Squeeze" || node.op == "Unsqueeze") {
        if (from.scalar == to_scalar || count != 1)
          throw found_instead(fmt::format("{} of {} values", node.op, count), to_scalar ? "a vector of 1" : "a scalar");
        result.scalar = to_scalar;
      } else {
        result.scalar = from.scalar;
      }
      result.values = from.values;
    }
  }
  if (result.values.size() > kMostValues)
    throw found_instead(fmt::format("{} values", result.values.size()), fmt::format("at most {}", kMostValues));
  values_[node.outputs[0]] = std::move(result);
}

std::vector<std::int64_t> ShapeNodes::reshape(const ProtoNode& node, const Shape& from) const {
  const Integers& shape = values_.at(node.inputs[1]);
  if (integer(node, "allowzero", 0) != 0 && std::ranges::count(shape.values, std::optional<std::int64_t>(0)) > 0)
    throw found_instead("a dimension of 0", "1 or more");
  const bool keeps_batch = !from.empty() && from[0] == kBatch && !shape.values.empty() && !shape.values[0];
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < shape.values.size(); ++i)
    result.push_back(shape.values[i].value_or(i == 0 && keeps_batch ? 0 : -1));
  return result;
}

}  // namespace unstarve::infer
