#include "unstarve/infer/graph/operators.h"

namespace unstarve::infer {
namespace {

template <class T>
constexpr std::size_t alternative() {
  return Attributes(T{}).index();
}

constexpr int kManyInputs = 1 << 20;

const std::array<OpInfo, kOpKinds>& op_infos() {
  // In the order of OpKind.
  static const std::array<OpInfo, kOpKinds> table{{
      {"Conv", alternative<ConvAttributes>(), 2, 3},
      {"BatchNormalization", alternative<NormAttributes>(), 5, 5},
      {"Relu", 0, 1, 1},
      {"Clip", alternative<ClipAttributes>(), 1, 1},
      {"Sigmoid", 0, 1, 1},
      {"HardSigmoid", alternative<HardSigmoidAttributes>(), 1, 1},
      {"HardSwish", 0, 1, 1},
      {"Erf", 0, 1, 1},
      {"Add", 0, 2, 2},
      {"Sub", 0, 2, 2},
      {"Mul", 0, 2, 2},
      {"Div", 0, 2, 2},
      {"MaxPool", alternative<PoolAttributes>(), 1, 1},
      {"AveragePool", alternative<PoolAttributes>(), 1, 1},
      {"GlobalAveragePool", 0, 1, 1},
      {"GlobalMaxPool", 0, 1, 1},
      {"ReduceMean", alternative<ReduceAttributes>(), 1, 1},
      {"Flatten", alternative<AxisAttributes>(), 1, 1},
      {"Reshape", alternative<ReshapeAttributes>(), 1, 1},
      {"Transpose", alternative<TransposeAttributes>(), 1, 1},
      {"Concat", alternative<AxisAttributes>(), 1, kManyInputs},
      {"Pad", alternative<PadAttributes>(), 1, 1},
      {"Gemm", alternative<GemmAttributes>(), 2, 3},
      {"MatMul", 0, 2, 2},
      {"Softmax", alternative<AxisAttributes>(), 1, 1},
      {"Identity", 0, 1, 1},
      {"Dropout", 0, 1, 1},
      {"Cast", alternative<CastAttributes>(), 1, 1},
      {"QuantizeLinear", alternative<AxisAttributes>(), 2, 3},
      {"DequantizeLinear", alternative<AxisAttributes>(), 2, 3},
  }};
  return table;
}

}  // namespace

const OpInfo& info_of(OpKind kind) noexcept { return op_infos()[static_cast<std::size_t>(kind)]; }

}  // namespace unstarve::infer
