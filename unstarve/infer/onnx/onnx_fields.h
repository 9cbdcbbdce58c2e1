#pragma once
// Field numbers and codes of onnx.proto (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto), which the reader and
// the writer share.

#include <array>
#include <cstdint>
#include <utility>

#include "unstarve/infer/graph/tensor.h"

namespace unstarve::infer::onnx {

inline constexpr std::int64_t kIrVersion = 8;
// That are read. The operators of the graph have the same meaning in all of them, apart from attributes that the reader
// checks; the writer writes one that all engines read.
inline constexpr std::int64_t kOldestOpset = 13, kNewestOpset = 28, kWrittenOpset = 17;

namespace model {
inline constexpr std::uint32_t kIrVersion = 1, kProducer = 2, kProducerVersion = 3, kGraph = 7, kOpset = 8,
                               kMetadata = 14;
}
namespace entry {  // of the metadata
inline constexpr std::uint32_t kKey = 1, kValue = 2;
}
namespace opset {
inline constexpr std::uint32_t kDomain = 1, kVersion = 2;
}
namespace graph {
inline constexpr std::uint32_t kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12, kSparse = 15;
}
namespace node {
inline constexpr std::uint32_t kInput = 1, kOutput = 2, kName = 3, kOpType = 4, kAttribute = 5, kDomain = 7;
}
namespace attribute {
inline constexpr std::uint32_t kName = 1, kFloat = 2, kInteger = 3, kText = 4, kTensor = 5, kGraph = 6, kFloats = 7,
                               kIntegers = 8, kGraphs = 11, kType = 20, kReference = 21;
inline constexpr std::int64_t kTypeFloat = 1, kTypeInteger = 2, kTypeText = 3, kTypeIntegers = 7;
}  // namespace attribute
namespace tensor {
inline constexpr std::uint32_t kDims = 1, kType = 2, kFloats = 4, kInt32s = 5, kInt64s = 7, kName = 8, kRaw = 9,
                               kExternal = 13, kLocation = 14;
}
namespace value_info {
inline constexpr std::uint32_t kName = 1, kType = 2;
}
namespace type {  // TypeProto, its Tensor, TensorShapeProto and its Dimension
inline constexpr std::uint32_t kTensor = 1, kElement = 1, kShape = 2, kDimension = 1, kLength = 1, kLengthName = 2;
}

inline constexpr std::array<std::pair<ElementType, std::int64_t>, 7> kElementCodes{{{ElementType::kFloat32, 1},
                                                                                    {ElementType::kUint8, 2},
                                                                                    {ElementType::kInt8, 3},
                                                                                    {ElementType::kInt32, 6},
                                                                                    {ElementType::kInt64, 7},
                                                                                    {ElementType::kFloat16, 10},
                                                                                    {ElementType::kBfloat16, 16}}};

}  // namespace unstarve::infer::onnx
