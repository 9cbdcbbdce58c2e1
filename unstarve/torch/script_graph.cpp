#include "unstarve/torch/script_graph.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <torch/csrc/jit/ir/constants.h>

#include "unstarve/core/error.h"
#include "unstarve/infer/graph/unsupported.h"

namespace unstarve::infer {
namespace {

using Script = const torch::jit::Value*;
using ScriptNode = const torch::jit::Node*;
using Integers = std::vector<std::int64_t>;

// An integer that is the batch size.
constexpr std::int64_t kBatchInteger = std::numeric_limits<std::int64_t>::min();

// An operator, or a form of it, that cannot be converted.
struct UnsupportedScript {
  std::string reason;
};
// A node that reads the result of such an operator.
struct UnknownInput {};

constexpr std::array<std::pair<torch::ScalarType, ElementType>, 7> kElementTypes{
    {{torch::kFloat32, ElementType::kFloat32},
     {torch::kFloat16, ElementType::kFloat16},
     {torch::kBFloat16, ElementType::kBfloat16},
     {torch::kInt8, ElementType::kInt8},
     {torch::kUInt8, ElementType::kUint8},
     {torch::kInt32, ElementType::kInt32},
     {torch::kInt64, ElementType::kInt64}}};

ElementType element_of(torch::ScalarType type) {
  for (const auto& [from, to] : kElementTypes)
    if (from == type) return to;
  throw UnsupportedScript{fmt::format(" of {}", torch::toString(type))};
}

Tensor tensor_of(torch::Tensor from) {
  from = from.detach().to(torch::kCPU).contiguous();
  if (from.scalar_type() == torch::kFloat64) from = from.to(torch::kFloat32);
  Tensor tensor{{element_of(from.scalar_type()), from.sizes().vec()}, std::vector<std::uint8_t>(from.nbytes())};
  if (from.nbytes() > 0) std::memcpy(tensor.bytes.data(), from.data_ptr(), from.nbytes());
  return tensor;
}

class ScriptImporter {
 public:
  ScriptImporter(const torch::jit::Graph& script, const TensorType& input, const TensorNames& names)
      : script_(script), names_(names) {
    items_[script.inputs().back()] = graph_.add_input(unique("input"), input);
  }

  Graph run() {
    for (ScriptNode node : script_.nodes()) convert(node);
    unsupported_.check();
    if (script_.outputs().size() != 1)
      throw Error(ErrorKind::kInput, fmt::format("found {} outputs; expected one", script_.outputs().size()));
    const auto found = items_.find(script_.outputs()[0]);
    if (found == items_.end() || !std::holds_alternative<ValueId>(found->second))
      throw Error(ErrorKind::kInput, "the output is not one tensor; expected one");
    graph_.outputs = {std::get<ValueId>(found->second)};
    graph_.remove_unused();
    return std::move(graph_);
  }

 private:
  struct Unknown {};
  // A tensor; a constant; a list; the result of an unsupported operator.
  using Item = std::variant<Unknown, ValueId, c10::IValue, std::vector<Script>>;
  using Convert = void (ScriptImporter::*)();

  struct Row {
    std::string_view op;  // without "aten::" and the underscore of operators in place
    Convert convert;
  };
  static const std::vector<Row>& rows();

  void convert(ScriptNode node) {
    node_ = node;
    const std::string kind = node->kind().toQualString();
    try {
      if (!convert_plain(kind)) convert_aten(kind);
    } catch (const UnsupportedScript& form) {
      unsupported_.add(kind + form.reason, unique(label()));
      for (Script output : node->outputs()) items_[output] = Unknown{};
    } catch (const UnknownInput&) {
      for (Script output : node->outputs()) items_[output] = Unknown{};
    }
  }

  // Nodes that are not operators on tensors.
  bool convert_plain(const std::string& kind) {
    if (kind == "prim::Constant") {
      items_[node_->output()] = torch::jit::toIValue(node_->output()).value();
    } else if (kind == "prim::ListConstruct") {
      items_[node_->output()] = std::vector<Script>(node_->inputs().begin(), node_->inputs().end());
    } else if (kind == "prim::NumToTensor" || kind == "aten::Int" || kind == "aten::IntImplicit") {
      items_[node_->output()] = item(in(0));
    } else if (kind == "prim::If") {
      convert_branch();
    } else if (kind == "aten::append") {
      const auto list = items_.find(in(0));
      if (list == items_.end() || !std::holds_alternative<std::vector<Script>>(list->second))
        throw UnsupportedScript{" to a computed list"};
      std::get<std::vector<Script>>(list->second).push_back(in(1));
    } else {
      return convert_integers(kind);
    }
    return true;
  }

  // The branch that is taken, if that does not depend on values.
  void convert_branch() {
    ScriptNode branch = node_;
    const torch::jit::Block* block = branch->blocks()[flag(0) ? 0 : 1];
    for (ScriptNode node : block->nodes()) convert(node);
    node_ = branch;
    for (std::size_t i = 0; i < branch->outputs().size(); ++i) items_[branch->outputs()[i]] = item(block->outputs()[i]);
  }

  // Shapes, and what scripts compute from them to check their arguments.
  bool convert_integers(const std::string& kind) {
    const auto number = [&](std::int64_t value) { items_[node_->output()] = c10::IValue(value); };
    const auto sizes = [&] {
      Integers result = graph_.value(tensor(0)).type.shape;
      std::ranges::replace(result, kBatch, kBatchInteger);
      return result;
    };
    if (kind == "aten::size" && node_->inputs().size() == 1) {
      items_[node_->output()] = c10::IValue(sizes());
    } else if (kind == "aten::size") {
      const Integers all = sizes();
      number(all[axis(integer(1), all.size())]);
    } else if (kind == "aten::dim") {
      number(static_cast<std::int64_t>(sizes().size()));
    } else if (kind == "aten::len") {
      const auto* const list = std::get_if<std::vector<Script>>(&item(in(0)));
      number(static_cast<std::int64_t>(list != nullptr ? list->size() : integers(0, /*batch=*/true).size()));
    } else if (kind == "aten::__getitem__" && constant(in(1)).isInt()) {
      const auto* const list = std::get_if<std::vector<Script>>(&item(in(0)));
      if (list != nullptr) {
        items_[node_->output()] = item((*list)[axis(integer(1), list->size())]);
      } else {
        const Integers all = integers(0, /*batch=*/true);
        number(all[axis(integer(1), all.size())]);
      }
    } else if (const auto compare = comparison(kind)) {
      items_[node_->output()] = c10::IValue((*compare)(integer(0), integer(1)));
    } else {
      return false;
    }
    return true;
  }

  using Compare = bool (*)(std::int64_t a, std::int64_t b);
  static std::optional<Compare> comparison(std::string_view kind) {
    if (kind == "aten::eq") return [](std::int64_t a, std::int64_t b) { return a == b; };
    if (kind == "aten::ne") return [](std::int64_t a, std::int64_t b) { return a != b; };
    if (kind == "aten::lt") return [](std::int64_t a, std::int64_t b) { return a < b; };
    if (kind == "aten::le") return [](std::int64_t a, std::int64_t b) { return a <= b; };
    if (kind == "aten::gt") return [](std::int64_t a, std::int64_t b) { return a > b; };
    if (kind == "aten::ge") return [](std::int64_t a, std::int64_t b) { return a >= b; };
    return std::nullopt;
  }

  void convert_aten(const std::string& kind) {
    constexpr std::string_view kAten = "aten::";
    std::string_view op = kind;
    if (!op.starts_with(kAten)) throw UnsupportedScript{};
    op.remove_prefix(kAten.size());
    const bool in_place = op.ends_with("_");
    if (in_place) op.remove_suffix(1);
    const auto row = std::ranges::find(rows(), op, &Row::op);
    if (row == rows().end()) throw UnsupportedScript{};
    if (in_place && is_view(in(0)->node())) throw UnsupportedScript{" of a view"};
    (this->*row->convert)();
    if (in_place) items_[in(0)] = items_.at(node_->outputs()[0]);
  }

  // Operators whose result shares memory with their input.
  static bool is_view(ScriptNode node) {
    static const std::set<std::string_view> kViews{
        "aten::alias",   "aten::contiguous", "aten::detach",    "aten::flatten", "aten::permute",   "aten::reshape",
        "aten::squeeze", "aten::t",          "aten::transpose", "aten::to",      "aten::unsqueeze", "aten::view"};
    return kViews.contains(node->kind().toQualString());
  }

  // --- names ---

  std::string unique(const std::string& name) {
    std::string found = name;
    for (int i = 1; !used_names_.insert(found).second; ++i) found = fmt::format("{}_{}", name, i);
    return found;
  }
  // Of the present node: that of its weights "conv1.weight", else its kind and a number.
  std::string label() {
    for (Script input : node_->inputs()) {
      const auto found = items_.find(input);
      if (found == items_.end() || !std::holds_alternative<c10::IValue>(found->second)) continue;
      const c10::IValue& value = std::get<c10::IValue>(found->second);
      const std::string name = value.isTensor() ? name_of_tensor(input, value.toTensor()) : "";
      if (name.ends_with(".weight")) return name.substr(0, name.size() - std::string_view(".weight").size());
    }
    std::string kind = node_->kind().toUnqualString();
    return kind.substr(kind.find_first_not_of('_') == std::string::npos ? 0 : kind.find_first_not_of('_'));
  }
  // "": none is known.
  std::string name_of_tensor(Script value, const torch::Tensor& tensor) const {
    const auto found = names_.find(tensor.data_ptr());
    if (found != names_.end() && tensor.numel() > 0) return found->second;
    const std::string name = value->debugName();
    constexpr std::string_view kSelf = "self.";
    return name.starts_with(kSelf) ? name.substr(kSelf.size()) : "";
  }

  // --- inputs of the present node ---

  [[nodiscard]] Script in(std::size_t i) const {
    if (i >= node_->inputs().size()) throw UnsupportedScript{fmt::format(" with {} arguments", i)};
    return node_->inputs()[i];
  }
  [[nodiscard]] const Item& item(Script value) const {
    const auto found = items_.find(value);
    if (found == items_.end()) throw UnsupportedScript{" of a value that is not a tensor"};
    if (std::holds_alternative<Unknown>(found->second)) throw UnknownInput{};
    return found->second;
  }
  [[nodiscard]] const c10::IValue& constant(Script value) const {
    const auto* const found = std::get_if<c10::IValue>(&item(value));
    if (found == nullptr) throw UnsupportedScript{" whose arguments depend on values"};
    return *found;
  }
  [[nodiscard]] bool is_none(std::size_t i) const {
    const auto* const found = std::get_if<c10::IValue>(&item(in(i)));
    return found != nullptr && found->isNone();
  }
  // The batch size is kBatchInteger, or not accepted.
  [[nodiscard]] std::int64_t integer_of(Script value, bool batch = false) const {
    const c10::IValue& found = constant(value);
    if (found.isInt()) return batch ? found.toInt() : known(found.toInt());
    if (found.isTensor() && found.toTensor().numel() == 1) return found.toTensor().item<std::int64_t>();
    throw UnsupportedScript{" whose arguments are not integers"};
  }
  static std::int64_t known(std::int64_t number) {
    if (number == kBatchInteger) throw UnsupportedScript{" with the batch size"};
    return number;
  }
  [[nodiscard]] std::int64_t integer(std::size_t i) const { return integer_of(in(i)); }
  [[nodiscard]] bool flag(std::size_t i) const {
    const c10::IValue& found = constant(in(i));
    return found.isBool() ? found.toBool() : integer(i) != 0;
  }
  [[nodiscard]] double number(std::size_t i) const {
    const c10::IValue& found = constant(in(i));
    if (found.isTensor() && found.toTensor().numel() == 1) return found.toTensor().item<double>();
    if (!found.isScalar()) throw UnsupportedScript{" whose arguments are not numbers"};
    if (found.isInt()) (void)known(found.toInt());
    return found.toScalar().toDouble();
  }
  [[nodiscard]] Integers integers(std::size_t i, bool batch = false) const {
    Integers result;
    if (const auto* const list = std::get_if<std::vector<Script>>(&item(in(i)))) {
      for (Script value : *list) result.push_back(integer_of(value, batch));
      return result;
    }
    const c10::IValue& value = constant(in(i));
    if (!value.isIntList()) return {integer_of(in(i), batch)};
    for (const std::int64_t number : value.toIntVector()) result.push_back(batch ? number : known(number));
    return result;
  }
  // A pair of rows and columns, which may be given as one number.
  [[nodiscard]] std::array<std::int64_t, 2> pair(std::size_t i) const {
    const Integers values = integers(i);
    if (values.size() == 1) return {values[0], values[0]};
    if (values.size() != 2) throw UnsupportedScript{fmt::format(" with {} axes", values.size())};
    return {values[0], values[1]};
  }

  ValueId tensor_of_value(Script value) {
    const Item& found = item(value);
    if (const auto* const id = std::get_if<ValueId>(&found)) return *id;
    const c10::IValue& of = constant(value);
    if (!of.isTensor()) throw UnsupportedScript{" of a value that is not a tensor"};
    std::string name = name_of_tensor(value, of.toTensor());
    if (name.empty()) name = "constant";
    const ValueId id = graph_.add_constant(unique(name), tensor_of(of.toTensor()));
    items_[value] = id;
    return id;
  }
  ValueId tensor(std::size_t i) { return tensor_of_value(in(i)); }
  // A tensor, or a number, which gets the type of `like`. Numbers of float64 are rounded to float32.
  ValueId operand(std::size_t i, ElementType like) {
    const auto* const found = std::get_if<c10::IValue>(&item(in(i)));
    const bool scalar = found != nullptr && (found->isScalar() || (found->isTensor() && found->toTensor().dim() == 0));
    if (!scalar) return tensor(i);
    if (like != ElementType::kFloat32) throw UnsupportedScript{fmt::format(" of {} and a number", name_of(like))};
    return scalar_constant(number(i));
  }
  ValueId scalar_constant(double value) {
    return graph_.add_constant(unique("number"), make_tensor({}, std::vector<float>{static_cast<float>(value)}));
  }
  [[nodiscard]] const TensorType& type(ValueId id) const { return graph_.value(id).type; }
  static std::size_t axis(std::int64_t number, std::size_t rank) {
    const auto signed_rank = static_cast<std::int64_t>(rank);
    if (number < -signed_rank || number >= signed_rank) throw UnsupportedScript{" along an axis that does not exist"};
    return static_cast<std::size_t>(number < 0 ? number + signed_rank : number);
  }

  // --- results ---

  void result(ValueId id) { items_[node_->outputs()[0]] = id; }
  ValueId add(OpKind kind, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return graph_.add_node(unique(label()), kind, std::move(inputs), std::move(attributes));
  }
  void emit(OpKind kind, std::vector<ValueId> inputs, Attributes attributes = {}) {
    result(add(kind, std::move(inputs), std::move(attributes)));
  }

  // --- operators ---

  template <OpKind kind>
  void unary() {
    emit(kind, {tensor(0)});
  }
  void same() { result(tensor(0)); }

  template <OpKind kind>
  void binary() {
    constexpr bool kScaled = kind == OpKind::kAdd || kind == OpKind::kSub;
    const bool more = node_->inputs().size() > 2;
    if (more && kScaled && number(2) != 1) throw UnsupportedScript{" with alpha"};
    if (more && !kScaled && !is_none(2)) throw UnsupportedScript{" with rounding"};
    const bool first_is_tensor = std::holds_alternative<ValueId>(item(in(0)));
    const ValueId known = tensor(first_is_tensor ? 0 : 1);
    const ValueId other = operand(first_is_tensor ? 1 : 0, type(known).element);
    emit(kind, first_is_tensor ? std::vector{known, other} : std::vector{other, known});
  }

  void convolution(const Window& window, std::int64_t groups) {
    const ValueId x = tensor(0), weight = tensor(1);
    std::vector<ValueId> inputs{x, weight};
    if (!is_none(2)) inputs.push_back(tensor(2));
    const Shape& shape = type(weight).shape;
    if (shape.size() != 4) throw UnsupportedScript{fmt::format(" with {} axes", shape.size())};
    Window of = window;
    of.kernel = {shape[2], shape[3]};
    if (const auto* const padding = std::get_if<c10::IValue>(&item(in(4))); padding != nullptr && padding->isString()) {
      const bool same = padding->toStringRef() == "same";
      if (!same && padding->toStringRef() != "valid") throw UnsupportedScript{" with this padding"};
      for (const std::size_t i : {0, 1}) {
        const std::int64_t total = same ? of.dilations[i] * (of.kernel[i] - 1) : 0;
        of.pads[i] = total / 2;
        of.pads[i + 2] = total - total / 2;
      }
    } else {
      const auto [rows, columns] = pair(4);
      of.pads = {rows, columns, rows, columns};
    }
    emit(OpKind::kConv, std::move(inputs), ConvAttributes{of, groups});
  }
  void conv2d() { convolution({.strides = pair(3), .dilations = pair(5)}, integer(6)); }
  void any_convolution() {
    if (flag(6)) throw UnsupportedScript{" that is transposed"};
    convolution({.strides = pair(3), .dilations = pair(5)}, integer(8));
  }

  void batch_norm() {
    if (flag(5) || is_none(3) || is_none(4)) throw UnsupportedScript{" in training mode"};
    const ValueId x = tensor(0), mean = tensor(3), variance = tensor(4);
    const auto filled = [&](std::size_t i, float value) {
      if (!is_none(i)) return tensor(i);
      const Shape& shape = type(mean).shape;
      const auto count = static_cast<std::size_t>(element_count(shape).value_or(0));
      return graph_.add_constant(unique("constant"), make_tensor(shape, std::vector<float>(count, value)));
    };
    const ValueId scale = filled(1, 1), shift = filled(2, 0);
    emit(OpKind::kBatchNormalization, {x, scale, shift, mean, variance}, NormAttributes{static_cast<float>(number(7))});
  }

  void relu6() { emit(OpKind::kClip, {tensor(0)}, ClipAttributes{0, 6}); }
  void clamp() {
    ClipAttributes of;
    if (!is_none(1)) of.low = static_cast<float>(number(1));
    if (node_->inputs().size() > 2 && !is_none(2)) of.high = static_cast<float>(number(2));
    emit(OpKind::kClip, {tensor(0)}, of);
  }
  void hard_sigmoid() { emit(OpKind::kHardSigmoid, {tensor(0)}, HardSigmoidAttributes{1.0F / 6, 0.5F}); }
  void silu() {
    const ValueId x = tensor(0);
    emit(OpKind::kMul, {x, add(OpKind::kSigmoid, {x})});
  }
  // x / 2 * (1 + erf(x / sqrt(2)))
  void gelu() {
    const bool exact = node_->inputs().size() < 2 || constant(in(1)).toStringRef() == "none";
    if (!exact) throw UnsupportedScript{" by tanh"};
    const ValueId x = tensor(0);
    if (type(x).element != ElementType::kFloat32) throw UnsupportedScript{" of another type than float32"};
    const ValueId erf = add(OpKind::kErf, {add(OpKind::kDiv, {x, scalar_constant(std::numbers::sqrt2)})});
    const ValueId product = add(OpKind::kMul, {x, add(OpKind::kAdd, {erf, scalar_constant(1)})});
    emit(OpKind::kMul, {product, scalar_constant(0.5)});
  }

  // Kernel, stride and padding, which begin with argument 1.
  [[nodiscard]] PoolAttributes pool_window() const {
    PoolAttributes of;
    of.window.kernel = pair(1);
    of.window.strides = integers(2).empty() ? of.window.kernel : pair(2);
    const auto [rows, columns] = pair(3);
    of.window.pads = {rows, columns, rows, columns};
    return of;
  }
  void max_pool() {
    PoolAttributes of = pool_window();
    of.window.dilations = pair(4);
    of.ceil = flag(5);
    emit(OpKind::kMaxPool, {tensor(0)}, of);
  }
  void average_pool() {
    PoolAttributes of = pool_window();
    of.ceil = flag(4);
    of.count_pads = flag(5);
    if (!is_none(6)) throw UnsupportedScript{" with a divisor"};
    emit(OpKind::kAveragePool, {tensor(0)}, of);
  }
  template <OpKind global, OpKind windowed>
  void adaptive_pool() {
    const auto [rows, columns] = pair(1);
    const ValueId x = tensor(0);
    const Shape shape = type(x).shape;
    if (shape.size() != 4) throw UnsupportedScript{" of another rank than 4"};
    if (rows == 1 && columns == 1) {
      emit(global, {x});
      return;
    }
    if (rows < 1 || columns < 1 || shape[2] % rows != 0 || shape[3] % columns != 0)
      throw UnsupportedScript{fmt::format(" from {} x {} to {} x {}", shape[2], shape[3], rows, columns)};
    PoolAttributes of;
    of.window.kernel = of.window.strides = {shape[2] / rows, shape[3] / columns};
    emit(windowed, {x}, of);
  }

  void mean() {
    const ValueId x = tensor(0);
    ReduceAttributes of{{}, false};
    if (node_->inputs().size() > 2) {
      if (!is_none(1)) of.axes = integers(1);
      of.keep = flag(2);
    }
    if (const std::size_t last = node_->inputs().size() - 1; !is_none(last)) throw UnsupportedScript{" with a type"};
    for (std::int64_t& number : of.axes) number = static_cast<std::int64_t>(axis(number, type(x).shape.size()));
    emit(OpKind::kReduceMean, {x}, of);
  }

  void flatten() {
    const ValueId x = tensor(0);
    const Shape& shape = type(x).shape;
    const std::size_t first = axis(integer(1), shape.size()), last = axis(integer(2), shape.size());
    if (first == 1 && last + 1 == shape.size()) {
      emit(OpKind::kFlatten, {x}, AxisAttributes{1});
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
    emit(OpKind::kReshape, {x}, ReshapeAttributes{sizes});
  }
  void reshape() {
    Integers sizes = integers(1, /*batch=*/true);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == kBatchInteger && i > 0) throw UnsupportedScript{" of the batch"};
      if (sizes[i] == kBatchInteger) sizes[i] = 0;
    }
    emit(OpKind::kReshape, {tensor(0)}, ReshapeAttributes{sizes});
  }
  void reshape_to(ValueId x, const Shape& shape) {
    Integers sizes;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == kBatch && i > 0) throw UnsupportedScript{" of the batch"};
      sizes.push_back(shape[i] == kBatch ? 0 : shape[i]);
    }
    emit(OpKind::kReshape, {x}, ReshapeAttributes{sizes});
  }
  void unsqueeze() {
    const ValueId x = tensor(0);
    Shape shape = type(x).shape;
    const std::size_t at = axis(integer(1), shape.size() + 1);
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at), 1);
    reshape_to(x, shape);
  }
  void squeeze() {
    const ValueId x = tensor(0);
    Shape shape = type(x).shape;
    const std::size_t at = axis(integer(1), shape.size());
    if (shape[at] != 1) throw UnsupportedScript{fmt::format(" of an axis of length {}", shape[at])};
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at));
    reshape_to(x, shape);
  }

  void permute() {
    const ValueId x = tensor(0);
    Integers order = integers(1);
    for (std::int64_t& number : order) number = static_cast<std::int64_t>(axis(number, type(x).shape.size()));
    emit(OpKind::kTranspose, {x}, TransposeAttributes{order});
  }
  ValueId swapped(ValueId x, std::int64_t a, std::int64_t b) {
    const std::size_t rank = type(x).shape.size();
    Integers order;
    for (std::size_t i = 0; i < rank; ++i) order.push_back(static_cast<std::int64_t>(i));
    std::swap(order[axis(a, rank)], order[axis(b, rank)]);
    return add(OpKind::kTranspose, {x}, TransposeAttributes{order});
  }
  void transpose() {
    const bool matrix = node_->inputs().size() == 1;
    result(swapped(tensor(0), matrix ? 0 : integer(1), matrix ? 1 : integer(2)));
  }

  void linear() {
    const ValueId x = tensor(0), weight = tensor(1);
    std::vector<ValueId> inputs{x, weight};
    if (!is_none(2)) inputs.push_back(tensor(2));
    if (type(x).shape.size() == 2) {
      emit(OpKind::kGemm, std::move(inputs), GemmAttributes{.transpose_b = true});
      return;
    }
    const ValueId product = add(OpKind::kMatMul, {x, swapped(weight, 0, 1)});
    result(inputs.size() == 3 ? add(OpKind::kAdd, {product, inputs[2]}) : product);
  }
  void addmm() {
    GemmAttributes of;
    of.beta = static_cast<float>(number(3));
    of.alpha = static_cast<float>(number(4));
    emit(OpKind::kGemm, {tensor(1), tensor(2), tensor(0)}, of);
  }
  void matmul() { emit(OpKind::kMatMul, {tensor(0), tensor(1)}); }

  void concat() {
    const auto* const list = std::get_if<std::vector<Script>>(&item(in(0)));
    if (list == nullptr || list->empty()) throw UnsupportedScript{" of a computed list"};
    std::vector<ValueId> inputs;
    for (Script value : *list) inputs.push_back(tensor_of_value(value));
    emit(OpKind::kConcat, inputs, AxisAttributes{integer(1)});
  }
  void softmax() {
    if (!is_none(2)) throw UnsupportedScript{" with a type"};
    emit(OpKind::kSoftmax, {tensor(0)}, AxisAttributes{integer(1)});
  }
  void dropout() {
    if (flag(2)) throw UnsupportedScript{" in training mode"};
    emit(OpKind::kDropout, {tensor(0)});
  }
  void to_type() {
    const c10::IValue& code = constant(in(1));
    if (!code.isInt()) throw UnsupportedScript{" of a device"};
    emit(OpKind::kCast, {tensor(0)}, CastAttributes{element_of(static_cast<torch::ScalarType>(code.toInt()))});
  }

  // torch begins with the last axis.
  void padded(PadMode mode, float value) {
    const ValueId x = tensor(0);
    const std::size_t rank = type(x).shape.size();
    const Integers from = integers(1);
    if (from.size() % 2 != 0 || from.size() > 2 * rank) throw UnsupportedScript{" with these sizes"};
    PadAttributes of{Integers(2 * rank, 0), mode, value};
    for (std::size_t i = 0; i < from.size() / 2; ++i) {
      of.pads[rank - 1 - i] = from[2 * i];
      of.pads[2 * rank - 1 - i] = from[2 * i + 1];
    }
    emit(OpKind::kPad, {x}, of);
  }
  void pad() {
    const std::string mode = constant(in(2)).toStringRef();
    if (mode == "constant") {
      padded(PadMode::kConstant, is_none(3) ? 0.0F : static_cast<float>(number(3)));
    } else if (mode == "reflect" || mode == "replicate") {
      padded(mode == "reflect" ? PadMode::kReflect : PadMode::kEdge, 0);
    } else {
      throw UnsupportedScript{fmt::format(" with mode {}", mode)};
    }
  }
  void constant_pad() { padded(PadMode::kConstant, static_cast<float>(number(2))); }
  template <PadMode mode>
  void pad_2d() {
    padded(mode, 0);
  }

  const torch::jit::Graph& script_;
  const TensorNames& names_;
  Graph graph_;
  UnsupportedOperators unsupported_;
  std::unordered_map<Script, Item> items_;
  std::set<std::string> used_names_;
  ScriptNode node_ = nullptr;  // that is converted now
};

const std::vector<ScriptImporter::Row>& ScriptImporter::rows() {
  using S = ScriptImporter;
  static const std::vector<Row> table{
      {"_convolution", &S::any_convolution},
      {"_convolution_mode", &S::conv2d},
      {"adaptive_avg_pool2d", &S::adaptive_pool<OpKind::kGlobalAveragePool, OpKind::kAveragePool>},
      {"adaptive_max_pool2d", &S::adaptive_pool<OpKind::kGlobalMaxPool, OpKind::kMaxPool>},
      {"add", &S::binary<OpKind::kAdd>},
      {"addmm", &S::addmm},
      {"alias", &S::same},
      {"avg_pool2d", &S::average_pool},
      {"batch_norm", &S::batch_norm},
      {"cat", &S::concat},
      {"clamp", &S::clamp},
      {"clone", &S::same},
      {"constant_pad_nd", &S::constant_pad},
      {"contiguous", &S::same},
      {"conv2d", &S::conv2d},
      {"detach", &S::same},
      {"div", &S::binary<OpKind::kDiv>},
      {"dropout", &S::dropout},
      {"erf", &S::unary<OpKind::kErf>},
      {"feature_dropout", &S::dropout},
      {"flatten", &S::flatten},
      {"gelu", &S::gelu},
      {"hardsigmoid", &S::hard_sigmoid},
      {"hardswish", &S::unary<OpKind::kHardSwish>},
      {"hardtanh", &S::clamp},
      {"linear", &S::linear},
      {"matmul", &S::matmul},
      {"max_pool2d", &S::max_pool},
      {"mean", &S::mean},
      {"mm", &S::matmul},
      {"mul", &S::binary<OpKind::kMul>},
      {"pad", &S::pad},
      {"permute", &S::permute},
      {"reflection_pad2d", &S::pad_2d<PadMode::kReflect>},
      {"relu", &S::unary<OpKind::kRelu>},
      {"relu6", &S::relu6},
      {"replication_pad2d", &S::pad_2d<PadMode::kEdge>},
      {"reshape", &S::reshape},
      {"sigmoid", &S::unary<OpKind::kSigmoid>},
      {"silu", &S::silu},
      {"softmax", &S::softmax},
      {"squeeze", &S::squeeze},
      {"sub", &S::binary<OpKind::kSub>},
      {"t", &S::transpose},
      {"to", &S::to_type},
      {"transpose", &S::transpose},
      {"unsqueeze", &S::unsqueeze},
      {"view", &S::reshape},
  };
  return table;
}

}  // namespace

Graph graph_of(const torch::jit::Graph& script, const TensorType& input, const TensorNames& names) {
  if (script.inputs().empty()) throw Error(ErrorKind::kInput, "found no input; expected one tensor");
  return ScriptImporter(script, input, names).run();
}

}  // namespace unstarve::infer
