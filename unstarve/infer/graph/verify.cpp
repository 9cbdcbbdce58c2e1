#include "unstarve/infer/graph/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "unstarve/core/error.h"
#include "unstarve/infer/graph/infer_type.h"

namespace unstarve::infer {
namespace {

std::string value_violation(const Value& value) {
  if (!value.constant) return {};
  const std::optional<std::int64_t> count = element_count(value.type.shape);
  if (value.constant->type != value.type)
    return fmt::format("constant '{}' is {}; expected {}", value.name, text_of(value.constant->type),
                       text_of(value.type));
  if (!count || static_cast<std::uint64_t>(*count) * element_bytes(value.type.element) != value.constant->bytes.size())
    return fmt::format("constant '{}' has {} bytes; expected those of {}", value.name, value.constant->bytes.size(),
                       text_of(value.type));
  return {};
}

std::string node_violation(const Graph& graph, const Node& node, const std::vector<bool>& defined) {
  const std::string what = fmt::format("node '{}' ({})", node.name, name_of(node.kind));
  for (const ValueId input : node.inputs) {
    if (input >= graph.values.size()) return what + " reads a value that does not exist";
    if (!defined[input])
      return fmt::format("{} reads '{}' before it is computed; expected topological order", what,
                         graph.values[input].name);
  }
  if (node.output >= graph.values.size()) return what + " computes a value that does not exist";
  if (defined[node.output]) return fmt::format("{} computes '{}', which exists", what, graph.values[node.output].name);
  try {
    const TensorType type = infer_type(graph, node);
    if (type != graph.values[node.output].type)
      return fmt::format("{} computes {}; expected {}", what, text_of(type), text_of(graph.values[node.output].type));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

std::string violation(const Graph& graph) {
  std::set<std::string_view> names;
  std::vector<bool> defined(graph.values.size(), false);
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (value.name.empty()) return fmt::format("value {} has no name", i);
    if (!names.insert(value.name).second) return fmt::format("two values have the name '{}'", value.name);
    if (std::string wrong = value_violation(value); !wrong.empty()) return wrong;
    defined[i] = value.constant != nullptr;
  }
  for (const ValueId id : graph.inputs) {
    if (id >= graph.values.size()) return "an input does not exist";
    if (defined[id]) return fmt::format("input '{}' is defined twice", graph.values[id].name);
    if (!is_possible(graph.values[id].type.shape))
      return fmt::format("input '{}' has the shape {}; expected at most 2^40 elements", graph.values[id].name,
                         text_of(graph.values[id].type.shape));
    defined[id] = true;
  }
  for (const Node& node : graph.nodes) {
    if (std::string wrong = node_violation(graph, node, defined); !wrong.empty()) return wrong;
    defined[node.output] = true;
  }
  if (graph.outputs.empty()) return "the graph has no output";
  for (const ValueId id : graph.outputs) {
    if (id >= graph.values.size()) return "an output does not exist";
    if (!defined[id]) return fmt::format("output '{}' is not computed", graph.values[id].name);
  }
  return {};
}

std::string not_finite(const Graph& graph) {
  for (const Value& value : graph.values) {
    if (!value.constant || !is_float(value.type.element)) continue;
    const std::vector<float> values = floats_of(*value.constant);
    const auto wrong = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
    if (wrong != values.end())
      return fmt::format("'{}' has {} at index {}", value.name, std::isnan(*wrong) ? "NaN" : "infinity",
                         wrong - values.begin());
  }
  return {};
}

}  // namespace unstarve::infer
