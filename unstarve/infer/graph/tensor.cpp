#include "unstarve/infer/graph/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace unstarve::infer {
namespace {

struct ElementInfo {
  std::string_view name;
  std::size_t bytes;
  bool floating;
};
// In the order of ElementType.
constexpr std::array<ElementInfo, 7> kElementInfos{{{"float32", 4, true},
                                                    {"float16", 2, true},
                                                    {"bfloat16", 2, true},
                                                    {"int8", 1, false},
                                                    {"uint8", 1, false},
                                                    {"int32", 4, false},
                                                    {"int64", 8, false}}};
const ElementInfo& info_of(ElementType type) noexcept { return kElementInfos[static_cast<std::size_t>(type)]; }

float float_of_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t fraction = half & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: a multiple of 2^-24
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

template <class T>
Tensor tensor_of(ElementType type, Shape shape, const std::vector<T>& values) {
  Tensor tensor{{type, std::move(shape)}, std::vector<std::uint8_t>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace

std::string_view name_of(ElementType type) noexcept { return info_of(type).name; }
std::size_t element_bytes(ElementType type) noexcept { return info_of(type).bytes; }
bool is_float(ElementType type) noexcept { return info_of(type).floating; }

std::string text_of(const Shape& shape) {
  std::vector<std::string> words;
  for (const std::int64_t dimension : shape) words.push_back(dimension == kBatch ? "batch" : std::to_string(dimension));
  return fmt::format("[{}]", fmt::join(words, ", "));
}

std::string text_of(const TensorType& type) { return fmt::format("{} {}", name_of(type.element), text_of(type.shape)); }

std::optional<std::int64_t> element_count(const Shape& shape) noexcept {
  std::int64_t count = 1;
  for (const std::int64_t dimension : shape) {
    if (dimension < 1 || dimension > kLargestDimension || count > kMostElements / dimension) return std::nullopt;
    count *= dimension;
  }
  return count;
}

bool is_possible(Shape shape) {
  if (const auto batch = std::ranges::find(shape, kBatch); batch != shape.end()) *batch = 1;
  return element_count(shape).has_value();
}

Tensor make_tensor(Shape shape, const std::vector<float>& values) {
  return tensor_of(ElementType::kFloat32, std::move(shape), values);
}
Tensor make_tensor(Shape shape, const std::vector<std::int64_t>& values) {
  return tensor_of(ElementType::kInt64, std::move(shape), values);
}

std::vector<float> floats_of(const Tensor& tensor) {
  if (tensor.type.element == ElementType::kFloat32) return values_of<float>(tensor);
  std::vector<float> values;
  for (const std::uint16_t bits : values_of<std::uint16_t>(tensor)) {
    values.push_back(tensor.type.element == ElementType::kFloat16
                         ? float_of_half(bits)
                         : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
  }
  return values;
}

std::vector<std::int64_t> integers_of(const Tensor& tensor) { return values_of<std::int64_t>(tensor); }

}  // namespace unstarve::infer
