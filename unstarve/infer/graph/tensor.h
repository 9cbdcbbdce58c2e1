#pragma once
// Tensors of a model graph: element type, shape and bytes.
//
// Threads: pure.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve::infer {

enum class ElementType : std::uint8_t { kFloat32, kFloat16, kBfloat16, kInt8, kUint8, kInt32, kInt64 };

// "float32", "int8", ...
[[nodiscard]] std::string_view name_of(ElementType type) noexcept;
[[nodiscard]] std::size_t element_bytes(ElementType type) noexcept;
[[nodiscard]] bool is_float(ElementType type) noexcept;

// A dimension that is the batch size, which is unknown until the model runs.
inline constexpr std::int64_t kBatch = -1;
// Larger dimensions and counts are rejected, so that 64-bit arithmetic never overflows.
inline constexpr std::int64_t kLargestDimension = std::int64_t{1} << 31;
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

using Shape = std::vector<std::int64_t>;

// "[batch, 3, 224, 224]"
[[nodiscard]] std::string text_of(const Shape& shape);
// Nothing if a dimension is kBatch or not in [1, kLargestDimension], or the count exceeds kMostElements.
[[nodiscard]] std::optional<std::int64_t> element_count(const Shape& shape) noexcept;
// Whether a value may have the shape: as element_count(), with kBatch once as the length 1.
[[nodiscard]] bool is_possible(Shape shape);

struct TensorType {
  ElementType element = ElementType::kFloat32;
  Shape shape{};
  bool operator==(const TensorType&) const = default;
};

// "float32 [batch, 3, 224, 224]"
[[nodiscard]] std::string text_of(const TensorType& type);

// Row-major, little endian, dense. Owns its bytes.
struct Tensor {
  TensorType type{};
  std::vector<std::uint8_t> bytes{};
};

[[nodiscard]] Tensor make_tensor(Shape shape, const std::vector<float>& values);
[[nodiscard]] Tensor make_tensor(Shape shape, const std::vector<std::int64_t>& values);
// The values of a tensor of floats, converted to float32. Precondition: is_float().
[[nodiscard]] std::vector<float> floats_of(const Tensor& tensor);
// The values of a tensor of int64. Precondition: that type.
[[nodiscard]] std::vector<std::int64_t> integers_of(const Tensor& tensor);

}  // namespace unstarve::infer
