#include "unstarve/torch/import/script_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numbers>
#include <utility>
#include <vector>

#include "unstarve/torch/import/script_values.h"

namespace unstarve::infer {
namespace {

template <OpKind kind>
void unary(ScriptValues& s) {
  s.emit(kind, {s.tensor(0)});
}
void same(ScriptValues& s) { s.result(s.tensor(0)); }

template <OpKind kind>
void binary(ScriptValues& s) {
  constexpr bool kScaled = kind == OpKind::kAdd || kind == OpKind::kSub;
  const bool more = s.inputs() > 2;
  if (more && kScaled && s.number(2) != 1) throw UnsupportedScript{" with alpha"};
  if (more && !kScaled && !s.is_none(2)) throw UnsupportedScript{" with rounding"};
  const bool first_is_tensor = std::holds_alternative<ValueId>(s.item(s.in(0)));
  const ValueId known = s.tensor(first_is_tensor ? 0 : 1);
  const ValueId other = s.operand(first_is_tensor ? 1 : 0, s.type(known).element);
  s.emit(kind, first_is_tensor ? std::vector{known, other} : std::vector{other, known});
}

void convolution(ScriptValues& s, const Window& window, std::int64_t groups) {
  const ValueId x = s.tensor(0), weight = s.tensor(1);
  std::vector<ValueId> inputs{x, weight};
  if (!s.is_none(2)) inputs.push_back(s.tensor(2));
  const Shape& shape = s.type(weight).shape;
  if (shape.size() != 4) throw UnsupportedScript{fmt::format(" with {} axes", shape.size())};
  Window of = window;
  of.kernel = {shape[2], shape[3]};
  if (const auto* const padding = std::get_if<c10::IValue>(&s.item(s.in(4)));
      padding != nullptr && padding->isString()) {
    const bool same = padding->toStringRef() == "same";
    if (!same && padding->toStringRef() != "valid") throw UnsupportedScript{" with this padding"};
    for (const std::size_t i : {0, 1}) {
      const std::int64_t total = same ? of.dilations[i] * (of.kernel[i] - 1) : 0;
      of.pads[i] = total / 2;
      of.pads[i + 2] = total - total / 2;
    }
  } else {
    const auto [rows, columns] = s.pair(4);
    of.pads = {rows, columns, rows, columns};
  }
  s.emit(OpKind::kConv, std::move(inputs), ConvAttributes{of, groups});
}
void conv2d(ScriptValues& s) { convolution(s, {.strides = s.pair(3), .dilations = s.pair(5)}, s.integer(6)); }
void any_convolution(ScriptValues& s) {
  if (s.flag(6)) throw UnsupportedScript{" that is transposed"};
  convolution(s, {.strides = s.pair(3), .dilations = s.pair(5)}, s.integer(8));
}

void batch_norm(ScriptValues& s) {
  if (s.flag(5) || s.is_none(3) || s.is_none(4)) throw UnsupportedScript{" in training mode"};
  const ValueId x = s.tensor(0), mean = s.tensor(3), variance = s.tensor(4);
  const auto filled = [&](std::size_t i, float value) {
    if (!s.is_none(i)) return s.tensor(i);
    const Shape& shape = s.type(mean).shape;
    const auto count = static_cast<std::size_t>(element_count(shape).value_or(0));
    return s.add_constant("constant", make_tensor(shape, std::vector<float>(count, value)));
  };
  const ValueId scale = filled(1, 1), shift = filled(2, 0);
  s.emit(OpKind::kBatchNormalization, {x, scale, shift, mean, variance},
         NormAttributes{static_cast<float>(s.number(7))});
}

void relu6(ScriptValues& s) { s.emit(OpKind::kClip, {s.tensor(0)}, ClipAttributes{0, 6}); }
void clamp(ScriptValues& s) {
  ClipAttributes of;
  if (!s.is_none(1)) of.low = static_cast<float>(s.number(1));
  if (s.inputs() > 2 && !s.is_none(2)) of.high = static_cast<float>(s.number(2));
  s.emit(OpKind::kClip, {s.tensor(0)}, of);
}
void hard_sigmoid(ScriptValues& s) {
  s.emit(OpKind::kHardSigmoid, {s.tensor(0)}, HardSigmoidAttributes{1.0F / 6, 0.5F});
}
void silu(ScriptValues& s) {
  const ValueId x = s.tensor(0);
  s.emit(OpKind::kMul, {x, s.add(OpKind::kSigmoid, {x})});
}
// x / 2 * (1 + erf(x / sqrt(2)))
void gelu(ScriptValues& s) {
  const bool exact = s.inputs() < 2 || s.constant(s.in(1)).toStringRef() == "none";
  if (!exact) throw UnsupportedScript{" by tanh"};
  const ValueId x = s.tensor(0);
  if (s.type(x).element != ElementType::kFloat32) throw UnsupportedScript{" of another type than float32"};
  const ValueId erf = s.add(OpKind::kErf, {s.add(OpKind::kDiv, {x, s.scalar_constant(std::numbers::sqrt2)})});
  const ValueId product = s.add(OpKind::kMul, {x, s.add(OpKind::kAdd, {erf, s.scalar_constant(1)})});
  s.emit(OpKind::kMul, {product, s.scalar_constant(0.5)});
}

// Kernel, stride and padding, which begin with argument 1.
PoolAttributes pool_window(const ScriptValues& s) {
  PoolAttributes of;
  of.window.kernel = s.pair(1);
  of.window.strides = s.integers(2).empty() ? of.window.kernel : s.pair(2);
  const auto [rows, columns] = s.pair(3);
  of.window.pads = {rows, columns, rows, columns};
  return of;
}
void max_pool(ScriptValues& s) {
  PoolAttributes of = pool_window(s);
  of.window.dilations = s.pair(4);
  of.ceil = s.flag(5);
  s.emit(OpKind::kMaxPool, {s.tensor(0)}, of);
}
void average_pool(ScriptValues& s) {
  PoolAttributes of = pool_window(s);
  of.ceil = s.flag(4);
  of.count_pads = s.flag(5);
  if (!s.is_none(6)) throw UnsupportedScript{" with a divisor"};
  s.emit(OpKind::kAveragePool, {s.tensor(0)}, of);
}
template <OpKind global, OpKind windowed>
void adaptive_pool(ScriptValues& s) {
  const auto [rows, columns] = s.pair(1);
  const ValueId x = s.tensor(0);
  const Shape shape = s.type(x).shape;
  if (shape.size() != 4) throw UnsupportedScript{" of another rank than 4"};
  if (rows == 1 && columns == 1) {
    s.emit(global, {x});
    return;
  }
  if (rows < 1 || columns < 1 || shape[2] % rows != 0 || shape[3] % columns != 0)
    throw UnsupportedScript{fmt::format(" from {} x {} to {} x {}", shape[2], shape[3], rows, columns)};
  PoolAttributes of;
  of.window.kernel = of.window.strides = {shape[2] / rows, shape[3] / columns};
  s.emit(windowed, {x}, of);
}

void mean(ScriptValues& s) {
  const ValueId x = s.tensor(0);
  ReduceAttributes of{{}, false};
  if (s.inputs() > 2) {
    if (!s.is_none(1)) of.axes = s.integers(1);
    of.keep = s.flag(2);
  }
  if (const std::size_t last = s.inputs() - 1; !s.is_none(last)) throw UnsupportedScript{" with a type"};
  for (std::int64_t& number : of.axes) number = static_cast<std::int64_t>(axis_index(number, s.type(x).shape.size()));
  s.emit(OpKind::kReduceMean, {x}, of);
}

void flatten(ScriptValues& s) {
  const ValueId x = s.tensor(0);
  const Shape& shape = s.type(x).shape;
  const std::size_t first = axis_index(s.integer(1), shape.size()), last = axis_index(s.integer(2), shape.size());
  if (first == 1 && last + 1 == shape.size()) {
    s.emit(OpKind::kFlatten, {x}, AxisAttributes{1});
    return;
  }
  Integers sizes;
  std::int64_t joined = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i < first || i > last) {
      sizes.push_back(shape[i] == kBatch ? 0 : shape[i]);
      continue;
    }
    if (shape[i] == kBatch) throw UnsupportedScript{" of the batch"};
    joined *= shape[i];
    if (i == last) sizes.push_back(joined);
  }
  s.emit(OpKind::kReshape, {x}, ReshapeAttributes{sizes});
}
void reshape(ScriptValues& s) {
  Integers sizes = s.integers(1, /*batch=*/true);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == kBatchInteger && i > 0) throw UnsupportedScript{" of the batch"};
    if (sizes[i] == kBatchInteger) sizes[i] = 0;
  }
  s.emit(OpKind::kReshape, {s.tensor(0)}, ReshapeAttributes{sizes});
}
void reshape_to(ScriptValues& s, ValueId x, const Shape& shape) {
  Integers sizes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == kBatch && i > 0) throw UnsupportedScript{" of the batch"};
    sizes.push_back(shape[i] == kBatch ? 0 : shape[i]);
  }
  s.emit(OpKind::kReshape, {x}, ReshapeAttributes{sizes});
}
void unsqueeze(ScriptValues& s) {
  const ValueId x = s.tensor(0);
  Shape shape = s.type(x).shape;
  const std::size_t at = axis_index(s.integer(1), shape.size() + 1);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at), 1);
  reshape_to(s, x, shape);
}
void squeeze(ScriptValues& s) {
  const ValueId x = s.tensor(0);
  Shape shape = s.type(x).shape;
  const std::size_t at = axis_index(s.integer(1), shape.size());
  if (shape[at] != 1) throw UnsupportedScript{fmt::format(" of an axis of length {}", shape[at])};
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at));
  reshape_to(s, x, shape);
}

void permute(ScriptValues& s) {
  const ValueId x = s.tensor(0);
  Integers order = s.integers(1);
  for (std::int64_t& number : order) number = static_cast<std::int64_t>(axis_index(number, s.type(x).shape.size()));
  s.emit(OpKind::kTranspose, {x}, TransposeAttributes{order});
}
ValueId swapped(ScriptValues& s, ValueId x, std::int64_t a, std::int64_t b) {
  const std::size_t rank = s.type(x).shape.size();
  Integers order;
  for (std::size_t i = 0; i < rank; ++i) order.push_back(static_cast<std::int64_t>(i));
  std::swap(order[axis_index(a, rank)], order[axis_index(b, rank)]);
  return s.add(OpKind::kTranspose, {x}, TransposeAttributes{order});
}
void transpose(ScriptValues& s) {
  const bool matrix = s.inputs() == 1;
  s.result(swapped(s, s.tensor(0), matrix ? 0 : s.integer(1), matrix ? 1 : s.integer(2)));
}

void linear(ScriptValues& s) {
  const ValueId x = s.tensor(0), weight = s.tensor(1);
  std::vector<ValueId> inputs{x, weight};
  if (!s.is_none(2)) inputs.push_back(s.tensor(2));
  if (s.type(x).shape.size() == 2) {
    s.emit(OpKind::kGemm, std::move(inputs), GemmAttributes{.transpose_b = true});
    return;
  }
  const ValueId product = s.add(OpKind::kMatMul, {x, swapped(s, weight, 0, 1)});
  s.result(inputs.size() == 3 ? s.add(OpKind::kAdd, {product, inputs[2]}) : product);
}
void addmm(ScriptValues& s) {
  GemmAttributes of;
  of.beta = static_cast<float>(s.number(3));
  of.alpha = static_cast<float>(s.number(4));
  s.emit(OpKind::kGemm, {s.tensor(1), s.tensor(2), s.tensor(0)}, of);
}
void matmul(ScriptValues& s) { s.emit(OpKind::kMatMul, {s.tensor(0), s.tensor(1)}); }

void concat(ScriptValues& s) {
  const auto* const list = std::get_if<std::vector<Script>>(&s.item(s.in(0)));
  if (list == nullptr || list->empty()) throw UnsupportedScript{" of a computed list"};
  std::vector<ValueId> inputs;
  for (Script value : *list) inputs.push_back(s.tensor_of(value));
  s.emit(OpKind::kConcat, inputs, AxisAttributes{s.integer(1)});
}
void softmax(ScriptValues& s) {
  if (!s.is_none(2)) throw UnsupportedScript{" with a type"};
  s.emit(OpKind::kSoftmax, {s.tensor(0)}, AxisAttributes{s.integer(1)});
}
void dropout(ScriptValues& s) {
  if (s.flag(2)) throw UnsupportedScript{" in training mode"};
  s.emit(OpKind::kDropout, {s.tensor(0)});
}
void to_type(ScriptValues& s) {
  const c10::IValue& code = s.constant(s.in(1));
  if (!code.isInt()) throw UnsupportedScript{" of a device"};
  s.emit(OpKind::kCast, {s.tensor(0)}, CastAttributes{element_of(static_cast<torch::ScalarType>(code.toInt()))});
}

// torch begins with the last axis.
void padded(ScriptValues& s, PadMode mode, float value) {
  const ValueId x = s.tensor(0);
  const std::size_t rank = s.type(x).shape.size();
  const Integers from = s.integers(1);
  if (from.size() % 2 != 0 || from.size() > 2 * rank) throw UnsupportedScript{" with these sizes"};
  PadAttributes of{Integers(2 * rank, 0), mode, value};
  for (std::size_t i = 0; i < from.size() / 2; ++i) {
    of.pads[rank - 1 - i] = from[2 * i];
    of.pads[2 * rank - 1 - i] = from[2 * i + 1];
  }
  s.emit(OpKind::kPad, {x}, of);
}
void pad(ScriptValues& s) {
  const std::string mode = s.constant(s.in(2)).toStringRef();
  if (mode == "constant") {
    padded(s, PadMode::kConstant, s.is_none(3) ? 0.0F : static_cast<float>(s.number(3)));
  } else if (mode == "reflect" || mode == "replicate") {
    padded(s, mode == "reflect" ? PadMode::kReflect : PadMode::kEdge, 0);
  } else {
    throw UnsupportedScript{fmt::format(" with mode {}", mode)};
  }
}
void constant_pad(ScriptValues& s) { padded(s, PadMode::kConstant, static_cast<float>(s.number(2))); }
template <PadMode mode>
void pad_2d(ScriptValues& s) {
  padded(s, mode, 0);
}

struct Row {
  std::string_view op;
  void (*convert)(ScriptValues&);
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table{
      {"_convolution", &any_convolution},
      {"_convolution_mode", &conv2d},
      {"adaptive_avg_pool2d", &adaptive_pool<OpKind::kGlobalAveragePool, OpKind::kAveragePool>},
      {"adaptive_max_pool2d", &adaptive_pool<OpKind::kGlobalMaxPool, OpKind::kMaxPool>},
      {"add", &binary<OpKind::kAdd>},
      {"addmm", &addmm},
      {"alias", &same},
      {"avg_pool2d", &average_pool},
      {"batch_norm", &batch_norm},
      {"cat", &concat},
      {"clamp", &clamp},
      {"clone", &same},
      {"constant_pad_nd", &constant_pad},
      {"contiguous", &same},
      {"conv2d", &conv2d},
      {"detach", &same},
      {"div", &binary<OpKind::kDiv>},
      {"dropout", &dropout},
      {"erf", &unary<OpKind::kErf>},
      {"feature_dropout", &dropout},
      {"flatten", &flatten},
      {"gelu", &gelu},
      {"hardsigmoid", &hard_sigmoid},
      {"hardswish", &unary<OpKind::kHardSwish>},
      {"hardtanh", &clamp},
      {"linear", &linear},
      {"matmul", &matmul},
      {"max_pool2d", &max_pool},
      {"mean", &mean},
      {"mm", &matmul},
      {"mul", &binary<OpKind::kMul>},
      {"pad", &pad},
      {"permute", &permute},
      {"reflection_pad2d", &pad_2d<PadMode::kReflect>},
      {"relu", &unary<OpKind::kRelu>},
      {"relu6", &relu6},
      {"replication_pad2d", &pad_2d<PadMode::kEdge>},
      {"reshape", &reshape},
      {"sigmoid", &unary<OpKind::kSigmoid>},
      {"silu", &silu},
      {"softmax", &softmax},
      {"squeeze", &squeeze},
      {"sub", &binary<OpKind::kSub>},
      {"t", &transpose},
      {"to", &to_type},
      {"transpose", &transpose},
      {"unsqueeze", &unsqueeze},
      {"view", &reshape},
  };
  return table;
}

}  // namespace

bool is_operator(std::string_view op) { return std::ranges::find(rows(), op, &Row::op) != rows().end(); }

void convert_operator(std::string_view op, ScriptValues& values) {
  const auto row = std::ranges::find(rows(), op, &Row::op);
  if (row == rows().end()) throw UnsupportedScript{};
  row->convert(values);
}

}  // namespace unstarve::infer
