#include "unstarve/torch/import/script_values.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

namespace unstarve::infer {
namespace {

constexpr std::array<std::pair<torch::ScalarType, ElementType>, 7> kElementTypes{
    {{torch::kFloat32, ElementType::kFloat32},
     {torch::kFloat16, ElementType::kFloat16},
     {torch::kBFloat16, ElementType::kBfloat16},
     {torch::kInt8, ElementType::kInt8},
     {torch::kUInt8, ElementType::kUint8},
     {torch::kInt32, ElementType::kInt32},
     {torch::kInt64, ElementType::kInt64}}};

Tensor copied(torch::Tensor from) {
  from = from.detach().to(torch::kCPU).contiguous();
  if (from.scalar_type() == torch::kFloat64) from = from.to(torch::kFloat32);
  Tensor tensor{{element_of(from.scalar_type()), from.sizes().vec()}, std::vector<std::uint8_t>(from.nbytes())};
  if (from.nbytes() > 0) std::memcpy(tensor.bytes.data(), from.data_ptr(), from.nbytes());
  return tensor;
}

std::int64_t known(std::int64_t number) {
  if (number == kBatchInteger) throw UnsupportedScript{" with the batch size"};
  return number;
}

}  // namespace

ElementType element_of(torch::ScalarType type) {
  for (const auto& [from, to] : kElementTypes)
    if (from == type) return to;
  throw UnsupportedScript{fmt::format(" of {}", torch::toString(type))};
}

std::size_t axis_index(std::int64_t number, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (number < -signed_rank || number >= signed_rank) throw UnsupportedScript{" along an axis that does not exist"};
  return static_cast<std::size_t>(number < 0 ? number + signed_rank : number);
}

const ScriptValues::Item& ScriptValues::item(Script value) const {
  const auto found = items_.find(value);
  if (found == items_.end()) throw UnsupportedScript{" of a value that is not a tensor"};
  if (std::holds_alternative<Unknown>(found->second)) throw UnknownInput{};
  return found->second;
}

const c10::IValue& ScriptValues::constant(Script value) const {
  const auto* const found = std::get_if<c10::IValue>(&item(value));
  if (found == nullptr) throw UnsupportedScript{" whose arguments depend on values"};
  return *found;
}

std::vector<Script>* ScriptValues::list(Script value) {
  const auto found = items_.find(value);
  return found == items_.end() ? nullptr : std::get_if<std::vector<Script>>(&found->second);
}

std::optional<ValueId> ScriptValues::computed(Script value) const {
  const auto found = items_.find(value);
  if (found == items_.end() || !std::holds_alternative<ValueId>(found->second)) return std::nullopt;
  return std::get<ValueId>(found->second);
}

ValueId ScriptValues::tensor_of(Script value) {
  const Item& found = item(value);
  if (const auto* const id = std::get_if<ValueId>(&found)) return *id;
  const c10::IValue& of = constant(value);
  if (!of.isTensor()) throw UnsupportedScript{" of a value that is not a tensor"};
  std::string name = name_of_tensor(value, of.toTensor());
  if (name.empty()) name = "constant";
  const ValueId id = graph_.add_constant(unique(name), copied(of.toTensor()));
  items_[value] = id;
  return id;
}

Script ScriptValues::in(std::size_t i) const {
  if (i >= node_->inputs().size()) throw UnsupportedScript{fmt::format(" with {} arguments", i)};
  return node_->inputs()[i];
}

bool ScriptValues::is_none(std::size_t i) const {
  const auto* const found = std::get_if<c10::IValue>(&item(in(i)));
  return found != nullptr && found->isNone();
}

bool ScriptValues::flag(std::size_t i) const {
  const c10::IValue& found = constant(in(i));
  return found.isBool() ? found.toBool() : integer(i) != 0;
}

double ScriptValues::number(std::size_t i) const {
  const c10::IValue& found = constant(in(i));
  if (found.isTensor() && found.toTensor().numel() == 1) return found.toTensor().item<double>();
  if (!found.isScalar()) throw UnsupportedScript{" whose arguments are not numbers"};
  if (found.isInt()) (void)known(found.toInt());
  return found.toScalar().toDouble();
}

Integers ScriptValues::integers(std::size_t i, bool batch) const {
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

std::array<std::int64_t, 2> ScriptValues::pair(std::size_t i) const {
  const Integers values = integers(i);
  if (values.size() == 1) return {values[0], values[0]};
  if (values.size() != 2) throw UnsupportedScript{fmt::format(" with {} axes", values.size())};
  return {values[0], values[1]};
}

ValueId ScriptValues::operand(std::size_t i, ElementType like) {
  const auto* const found = std::get_if<c10::IValue>(&item(in(i)));
  const bool scalar = found != nullptr && (found->isScalar() || (found->isTensor() && found->toTensor().dim() == 0));
  if (!scalar) return tensor(i);
  if (like != ElementType::kFloat32) throw UnsupportedScript{fmt::format(" of {} and a number", name_of(like))};
  return scalar_constant(number(i));
}

std::string ScriptValues::unique(const std::string& name) {
  std::string found = name;
  for (int i = 1; !used_names_.insert(found).second; ++i) found = fmt::format("{}_{}", name, i);
  return found;
}

std::string ScriptValues::label() const {
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

ValueId ScriptValues::scalar_constant(double value) {
  return add_constant("number", make_tensor({}, std::vector<float>{static_cast<float>(value)}));
}

ValueId ScriptValues::add(OpKind kind, std::vector<ValueId> inputs, Attributes attributes) {
  return graph_.add_node(unique(label()), kind, std::move(inputs), std::move(attributes));
}

std::int64_t ScriptValues::integer_of(Script value, bool batch) const {
  const c10::IValue& found = constant(value);
  if (found.isInt()) return batch ? found.toInt() : known(found.toInt());
  if (found.isTensor() && found.toTensor().numel() == 1) return found.toTensor().item<std::int64_t>();
  throw UnsupportedScript{" whose arguments are not integers"};
}

// "": none is known.
std::string ScriptValues::name_of_tensor(Script value, const torch::Tensor& tensor) const {
  const auto found = names_.find(tensor.data_ptr());
  if (found != names_.end() && tensor.numel() > 0) return found->second;
  const std::string name = value->debugName();
  constexpr std::string_view kSelf = "self.";
  return name.starts_with(kSelf) ? name.substr(kSelf.size()) : "";
}

}  // namespace unstarve::infer
