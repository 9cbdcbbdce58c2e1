#include "unstarve/infer/int8/quantise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "unstarve/core/error.h"

namespace unstarve::infer {
namespace {

bool is_float32(const Value& value) { return value.type.element == ElementType::kFloat32; }

bool is_quantisable(const Graph& graph, const Node& node) {
  if (node.kind != OpKind::kConv && node.kind != OpKind::kGemm && node.kind != OpKind::kMatMul) return false;
  const Value& x = graph.value(node.inputs[0]);
  const Value& weights = graph.value(node.inputs[1]);
  if (x.constant || !weights.constant || !is_float32(x) || !is_float32(weights) || x.type.shape.size() < 2)
    return false;
  if (node.kind == OpKind::kConv) return true;
  if (weights.type.shape.size() != 2) return false;
  return node.kind == OpKind::kMatMul || !std::get<GemmAttributes>(node.attributes).transpose_a;
}

// For each value, whether none of its elements can be negative, whatever the images are.
std::vector<bool> not_negative_values(const Graph& graph) {
  std::vector<bool> result(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    switch (node.kind) {
      case OpKind::kRelu:
      case OpKind::kSigmoid:
      case OpKind::kHardSigmoid:
      case OpKind::kSoftmax: result[node.output] = true; break;
      case OpKind::kClip: result[node.output] = std::get<ClipAttributes>(node.attributes).low >= 0; break;
      case OpKind::kAdd:
      case OpKind::kMul:
      case OpKind::kMaxPool:
      case OpKind::kAveragePool:
      case OpKind::kGlobalAveragePool:
      case OpKind::kGlobalMaxPool:
      case OpKind::kReduceMean:
      case OpKind::kFlatten:
      case OpKind::kReshape:
      case OpKind::kTranspose:
      case OpKind::kConcat:
      case OpKind::kIdentity:
      case OpKind::kDropout:
        result[node.output] = std::ranges::all_of(node.inputs, [&](ValueId input) { return result[input]; });
        break;
      default: break;
    }
  }
  return result;
}

// Whether the operator only selects or moves elements, so that quantised ones stay quantised.
bool moves_elements(OpKind kind) {
  return kind == OpKind::kMaxPool || kind == OpKind::kGlobalMaxPool || kind == OpKind::kFlatten ||
         kind == OpKind::kReshape;
}

// Where an activation is quantised: before the operators that only move its elements.
ValueId quantisation_point(const Graph& graph, const std::vector<std::size_t>& producers, ValueId value) {
  while (producers[value] != Graph::kNoNode && moves_elements(graph.nodes[producers[value]].kind))
    value = graph.nodes[producers[value]].inputs[0];
  return value;
}

// The activations to quantise for the layers, in ascending order.
std::vector<ValueId> quantisation_points(const Graph& graph, std::span<const std::size_t> layers) {
  const std::vector<std::size_t> producers = graph.producers();
  std::vector<ValueId> points;
  std::vector<bool> from_int8(graph.values.size(), false);  // results of int8, also after an activation function
  const auto add = [&](ValueId value) { points.push_back(quantisation_point(graph, producers, value)); };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const auto any_int8 = [&] { return std::ranges::any_of(node.inputs, [&](ValueId v) { return from_int8[v]; }); };
    if (std::ranges::find(layers, i) != layers.end()) {
      add(node.inputs[0]);
      from_int8[node.output] = true;
    } else if (node.kind == OpKind::kAdd && any_int8()) {
      const auto computed = [&](ValueId v) { return !graph.value(v).constant && is_float32(graph.value(v)); };
      if (!std::ranges::all_of(node.inputs, computed)) continue;
      std::ranges::for_each(node.inputs, add);
      from_int8[node.output] = true;
    } else if (node.kind == OpKind::kRelu || node.kind == OpKind::kClip || moves_elements(node.kind)) {
      from_int8[node.output] = from_int8[node.inputs[0]];
    } else if ((node.kind == OpKind::kGlobalAveragePool || node.kind == OpKind::kAveragePool) && any_int8()) {
      add(node.inputs[0]);
    }
  }
  std::ranges::sort(points);
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

// The rows of weights, one for each output channel: element i of row r is at begin + i * step.
struct WeightRows {
  std::size_t rows, length, row_step, step;

  WeightRows(const Shape& shape, std::size_t axis) : rows(static_cast<std::size_t>(shape[axis])) {
    std::size_t count = 1;
    for (const std::int64_t side : shape) count *= static_cast<std::size_t>(side);
    length = count / rows;
    row_step = axis == 0 ? length : 1;
    step = axis == 0 ? 1 : rows;
  }
  [[nodiscard]] std::size_t at(std::size_t row, std::size_t i) const { return row * row_step + i * step; }
};

struct QuantisedWeights {
  std::vector<std::int8_t> values;
  std::vector<float> scales;  // by output channel
};

QuantisedWeights quantised_weights(const std::vector<float>& weights, const WeightRows& rows, int bits) {
  const auto most = static_cast<float>((1 << (bits - 1)) - 1);
  QuantisedWeights result{std::vector<std::int8_t>(weights.size()), std::vector<float>(rows.rows)};
  for (std::size_t r = 0; r < rows.rows; ++r) {
    float largest = 0;
    for (std::size_t i = 0; i < rows.length; ++i) largest = std::max(largest, std::abs(weights[rows.at(r, i)]));
    const float scale = largest > 0 ? std::max(largest / most, 1e-30F) : 1;
    result.scales[r] = scale;
    for (std::size_t i = 0; i < rows.length; ++i) {
      const float rounded = std::nearbyint(weights[rows.at(r, i)] / scale);
      result.values[rows.at(r, i)] = static_cast<std::int8_t>(std::clamp(rounded, -most, most));
    }
  }
  return result;
}

Tensor bytes_tensor(Shape shape, ElementType type, const void* begin, std::size_t bytes) {
  Tensor tensor{{type, std::move(shape)}, std::vector<std::uint8_t>(bytes)};
  std::memcpy(tensor.bytes.data(), begin, bytes);
  return tensor;
}

// Builds the new graph: nodes are copied one after the other, with what they need before them.
class Quantiser {
 public:
  Quantiser(Graph graph, const Calibration* calibration, const QuantiseOptions& options)
      : graph_(std::move(graph)),
        calibration_(calibration),
        options_(options),
        positive_(not_negative_values(graph_)) {}

  // `points`: the activations to quantise.
  Graph run(std::span<const ValueId> points) {
    const std::set<ValueId> quantised(points.begin(), points.end());
    const std::set<std::size_t> layers(options_.layers.begin(), options_.layers.end());
    const std::vector<Node> nodes = std::exchange(graph_.nodes, {});
    for (const ValueId input : graph_.inputs)
      if (quantised.contains(input)) quantise_activation(input);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Node node = nodes[i];
      if (layers.contains(i)) quantise_layer(nodes[i], node);
      if (layers.contains(i) || reads_quantised(node.kind))
        for (ValueId& input : node.inputs)
          if (const auto found = dequantised_.find(input); found != dequantised_.end()) input = found->second;
      graph_.nodes.push_back(std::move(node));
      if (quantised.contains(nodes[i].output)) quantise_activation(nodes[i].output);
    }
    graph_.remove_unused();
    return std::move(graph_);
  }

 private:
  // Appends the pair of nodes after the value.
  void quantise_activation(ValueId value) {
    const bool positive = positive_[value] && !options_.form.signed_activations;
    const int levels = positive ? 255 : 127;
    const std::string name = graph_.value(value).name;
    const double limit = calibration_ == nullptr ? static_cast<double>(graph_.limits.at(name))
                                                 : calibration_->of(value).histogram.limit(options_.method, levels);
    const float scale = limit > 0 ? std::max(static_cast<float>(limit / levels), 1e-30F) : 1;
    const ValueId step = graph_.add_constant(graph_.unique_name(name + ".scale"), make_tensor({}, std::vector{scale}));
    std::vector<ValueId> inputs{value, step};
    if (!positive) inputs.push_back(int8_zero());
    const ValueId quantised = graph_.add_node(graph_.unique_name(name + ".quantised"), OpKind::kQuantizeLinear,
                                              std::move(inputs), AxisAttributes{1});
    dequantised_[value] = graph_.add_node(graph_.unique_name(name + ".dequantised"), OpKind::kDequantizeLinear,
                                          {quantised, step}, AxisAttributes{1});
  }

  // The zero point that makes a result of QuantizeLinear int8: without one, it is uint8.
  ValueId int8_zero() {
    constexpr std::int8_t kZero = 0;
    if (!int8_zero_)
      int8_zero_ =
          graph_.add_constant(graph_.unique_name("int8.zero"), bytes_tensor({}, ElementType::kInt8, &kZero, 1));
    return *int8_zero_;
  }

  void quantise_layer(const Node& before, Node& layer) {
    const Value weights = graph_.value(layer.inputs[1]);
    const std::vector<float> values = floats_of(*weights.constant);
    const std::size_t axis = channel_axis(layer);
    const WeightRows rows(weights.type.shape, axis);
    const QuantisedWeights quantised = quantised_weights(values, rows, options_.form.weight_bits);
    if (options_.correct_bias && calibration_ != nullptr) correct_bias(before, layer, values, rows, quantised);

    const auto channels = static_cast<std::int64_t>(rows.rows);
    const auto constant = [&](const char* suffix, Tensor tensor) {
      return graph_.add_constant(graph_.unique_name(weights.name + suffix), std::move(tensor));
    };
    const ValueId stored = constant(".int8", bytes_tensor(weights.type.shape, ElementType::kInt8,
                                                          quantised.values.data(), quantised.values.size()));
    const ValueId scales = constant(".scale", make_tensor({channels}, quantised.scales));
    layer.inputs[1] = graph_.add_node(graph_.unique_name(weights.name + ".dequantised"), OpKind::kDequantizeLinear,
                                      {stored, scales}, AxisAttributes{static_cast<std::int64_t>(axis)});
  }

  // Rounding changes the mean of an output channel by the sum of the weights' errors times the means of their inputs.
  void correct_bias(const Node& before, Node& layer, const std::vector<float>& weights, const WeightRows& rows,
                    const QuantisedWeights& quantised) {
    if (layer.kind == OpKind::kMatMul) return;  // has no bias
    if (layer.kind == OpKind::kGemm) {
      const GemmAttributes& of = std::get<GemmAttributes>(layer.attributes);
      if (of.alpha != 1 || of.beta != 1) return;
    }
    std::vector<float> bias(rows.rows, 0);
    if (layer.inputs.size() == 3) {
      const Value& value = graph_.value(layer.inputs[2]);
      if (!value.constant || !is_float32(value)) return;
      const std::vector<float> stored = floats_of(*value.constant);
      if (stored.size() != 1 && stored.size() != rows.rows) return;
      for (std::size_t r = 0; r < rows.rows; ++r) bias[r] = stored[stored.size() == 1 ? 0 : r];
    }
    const Activation& x = calibration_->of(before.inputs[0]);
    const std::int64_t groups = layer.kind == OpKind::kConv ? std::get<ConvAttributes>(layer.attributes).groups : 1;
    const std::size_t group_rows = rows.rows / static_cast<std::size_t>(groups);
    const std::size_t inputs = x.channels / static_cast<std::size_t>(groups), taps = rows.length / inputs;
    for (std::size_t r = 0; r < rows.rows; ++r) {
      double shift = 0;
      for (std::size_t i = 0; i < rows.length; ++i) {
        const double error = static_cast<double>(quantised.values[rows.at(r, i)]) * quantised.scales[r] -
                             static_cast<double>(weights[rows.at(r, i)]);
        const std::size_t channel = r / group_rows * inputs + i / taps;
        shift += error * x.channel_mean(channel, calibration_->images());
      }
      bias[r] = static_cast<float>(bias[r] - shift);
    }
    const std::string name = graph_.unique_name(graph_.value(layer.inputs[1]).name + ".corrected_bias");
    layer.inputs.resize(2);
    layer.inputs.push_back(graph_.add_constant(name, make_tensor({static_cast<std::int64_t>(rows.rows)}, bias)));
  }

  Graph graph_;
  const Calibration* calibration_;  // null: the graph has limits, or activations stay in float32
  const QuantiseOptions& options_;
  std::vector<bool> positive_;  // by value of the graph before
  std::optional<ValueId> int8_zero_;
  std::map<ValueId, ValueId> dequantised_;  // a value, and what int8 represents of it
};

}  // namespace

std::size_t channel_axis(const Node& layer) {
  if (layer.kind == OpKind::kConv) return 0;
  return layer.kind == OpKind::kGemm && std::get<GemmAttributes>(layer.attributes).transpose_b ? 0 : 1;
}

// Others, such as a multiplication, keep the float32 values.
bool reads_quantised(OpKind kind) {
  return kind == OpKind::kAdd || kind == OpKind::kAveragePool || kind == OpKind::kGlobalAveragePool ||
         moves_elements(kind);
}

std::vector<std::size_t> quantisable_layers(const Graph& graph) {
  std::vector<std::size_t> layers;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (is_quantisable(graph, graph.nodes[i])) layers.push_back(i);
  return layers;
}

std::vector<std::size_t> linear_layers(const Graph& graph) {
  std::vector<std::size_t> layers = quantisable_layers(graph);
  std::erase_if(layers, [&](std::size_t layer) { return graph.nodes[layer].kind == OpKind::kConv; });
  return layers;
}

std::vector<ValueId> observed_activations(const Graph& graph, std::span<const std::size_t> layers) {
  std::vector<ValueId> values = quantisation_points(graph, layers);
  for (const std::size_t layer : layers) values.push_back(graph.nodes[layer].inputs[0]);  // for their means
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

Graph quantise(Graph graph, const Calibration& calibration, const QuantiseOptions& options) {
  const std::vector<ValueId> points = quantisation_points(graph, options.layers);
  return Quantiser(std::move(graph), &calibration, options).run(points);
}

QuantisationPlan quantisation_plan(const Graph& graph, const Graph& folded) {
  QuantisationPlan plan{quantisable_layers(graph), {}};
  if (plan.layers.empty())
    throw Error(ErrorKind::kInput, fmt::format("quantise {}: found no Conv, Gemm or MatMul with constant float32 "
                                               "weights; expected at least one",
                                               graph.name));
  const std::vector<bool> positive = not_negative_values(folded);
  const std::vector<std::vector<std::size_t>> users = graph.users();
  for (const ValueId point : quantisation_points(folded, quantisable_layers(folded))) {
    const std::string& name = folded.value(point).name;
    const auto found = std::ranges::find(graph.values, name, &Value::name);
    const auto value = static_cast<ValueId>(found - graph.values.begin());
    const auto pooled_before_norm = [&](std::size_t user) {
      const Node& node = graph.nodes[user];
      return node.kind == OpKind::kMaxPool && std::ranges::any_of(users[node.output], [&](std::size_t next) {
               return graph.nodes[next].kind == OpKind::kBatchNormalization;
             });
    };
    if (std::ranges::any_of(users[value], pooled_before_norm))
      throw Error(ErrorKind::kInput,
                  fmt::format("quantise {}: found '{}' between a layer, a MaxPool and a batch norm without activation "
                              "function; expected the batch norm before the MaxPool",
                              graph.name, name));
    plan.activations.push_back({value, positive[point]});
  }
  return plan;
}

Graph quantise(Graph graph, const Int8Form& form) {
  const std::vector<std::size_t> producers = graph.producers();
  QuantiseOptions options;
  options.form = form;
  options.correct_bias = false;
  for (const std::size_t layer : quantisable_layers(graph)) {
    const ValueId read = quantisation_point(graph, producers, graph.nodes[layer].inputs[0]);
    if (graph.limits.contains(graph.value(read).name)) options.layers.push_back(layer);
  }
  std::vector<ValueId> points;
  for (ValueId id = 0; id < graph.values.size(); ++id)
    if (graph.limits.contains(graph.values[id].name)) points.push_back(id);
  const auto is_activation = [&](ValueId id) { return !graph.value(id).constant && is_float32(graph.value(id)); };
  if (points.size() != graph.limits.size() || !std::ranges::all_of(points, is_activation))
    throw Error(ErrorKind::kInput,
                fmt::format("quantise {}: found limits of {} values, of which {} are activations of "
                            "the model; expected all",
                            graph.name, graph.limits.size(), std::ranges::count_if(points, is_activation)));
  Graph result = Quantiser(std::move(graph), nullptr, options).run(points);
  result.limits.clear();
  return result;
}

Graph quantise_weights(Graph graph, std::span<const std::size_t> layers) {
  QuantiseOptions options;
  options.layers.assign(layers.begin(), layers.end());
  return Quantiser(std::move(graph), nullptr, options).run({});
}

}  // namespace unstarve::infer
