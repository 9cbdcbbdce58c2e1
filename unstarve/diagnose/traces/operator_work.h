#pragma once
// Arithmetic of matrix products and convolutions, from the shapes of an operator of PyTorch (record_shapes=True).
//
// A multiplication and its addition are two operations. Counted are aten::mm, addmm, bmm, baddbmm, convolution and
// convolution_backward: the others (matmul, linear, conv2d, cudnn_convolution ...) call these or are called by them.
// Kernels of attention are not counted.
//
// Threads: pure functions. Failure: none; unknown operators and shapes that do not fit have 0 operations.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace unstarve {

using TensorShape = std::vector<std::int64_t>;
inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;  // of a dimension; larger ones are no shapes

// Arguments of an operator as Kineto writes them. Precondition: sizes are 0..kLargestSize.
struct OperatorArguments {
  std::vector<TensorShape> shapes;  // "Input Dims"; empty: not a tensor
  std::vector<std::string> values;  // "Concrete Inputs": "[2, 2]", "False"
  std::string type;                 // of the first argument: "float", "c10::BFloat16"
};

[[nodiscard]] bool is_matrix_operator(std::string_view name);
[[nodiscard]] double operations_of(std::string_view name, const OperatorArguments& arguments);
// Whether the sizes that are channels or features are multiples of `multiple`: of a product [M, K] times [K, N], K and
// N; of a convolution, the channels of input and output, except those of images, up to 4. True for other operators.
[[nodiscard]] bool is_aligned(std::string_view name, const OperatorArguments& arguments, std::int64_t multiple);

}  // namespace unstarve
